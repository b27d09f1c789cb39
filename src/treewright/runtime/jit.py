"""Compilation of the kernels by Numba, where no machine code was shipped for this machine."""

from __future__ import annotations

import logging
import re
import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from treewright.runtime.code_cache import CodeCache, cache_directory
from treewright.runtime.kernels import import_kernels, name_of, replacements, roles

# Division follows IEEE (no exception inside a kernel). Fast-math is off: sums keep their written order, so that results
# have the same bits everywhere.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

# Calls that count references to arrays, in the code that Numba generates for LLVM.
_COUNTING = re.compile(r'^ *call void @"?NRT_(?:incref|decref)"?\(.*\n', re.MULTILINE)


def import_numba(purpose: str) -> Any:
    """Return Numba; if it is not installed, the error says what needs it.

    Where the user logs everything, Numba's log of each step of the compiler, 200,000 lines, is left out.
    """
    try:
        import numba
    except ImportError as problem:
        raise ModuleNotFoundError(
            f"{purpose} needs Numba, which is not installed or does not work ({problem}); "
            "install it with: pip install 'treewright[jit]'"
        ) from None
    log = logging.getLogger("numba")
    if log.level == logging.NOTSET:
        log.setLevel(logging.WARNING)
    return numba


@cache
def compile_all() -> dict[Callable[..., Any], Any]:
    """Pass all kernels to Numba, which compiles each when it is first called."""
    import_numba("treewright without the machine code of its kernels (none was shipped for this machine)")
    directory = cache_directory()
    announce = cache(_announce_compilation)

    def hand_over(function: Callable[..., Any], name: str) -> Any:
        import numba

        compiler = make_compilers()[1]
        form = numba.njit(no_cfunc_wrapper=True, pipeline_class=compiler, **OPTIONS)(function)
        form._cache = CodeCache(name, directory, announce)
        return form

    return translate(hand_over)


def _announce_compilation() -> None:
    """Say why a fit takes longer than usual."""
    if sys.stderr is not None:
        print("treewright: compiling its kernels, once; this takes up to a minute", file=sys.stderr, flush=True)


def translate(hand_over: Callable[[Callable[..., Any], str], Any]) -> dict[Callable[..., Any], Any]:
    """Pass all kernels to Numba, and the entries with their names to `hand_over`.

    Numba finds the callees of a kernel among its global names. The plain functions keep their globals, because another
    thread may be running them. The compiled functions get copies in which every kernel is the compiled one.
    """
    import numba

    import_kernels()
    scopes: dict[str, dict[str, Any]] = {}
    for function in roles:
        scopes.setdefault(function.__module__, dict(vars(sys.modules[function.__module__])))
    forms = {function: build() for function, build in replacements.items()}
    for function, role in roles.items():
        copy = types.FunctionType(function.__code__, scopes[function.__module__], function.__name__)
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        if role == "entry":
            forms[function] = hand_over(copy, name_of(function))
        elif role == "kernel":
            options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": make_compilers()[0]}
            forms[function] = numba.njit(**options, **OPTIONS)(copy)
        else:
            forms[function] = numba.njit(inline="always", **OPTIONS)(copy)
    for scope in scopes.values():
        scope.update({name: forms[value] for name, value in scope.items() if is_form_of(value, forms)})
    return forms


def is_form_of(value: Any, forms: dict[Callable[..., Any], Any]) -> bool:
    """Is this value of a scope a function that has a compiled form?"""
    return isinstance(value, types.FunctionType) and value in forms


def without_counting(ir_module: Any) -> Any:
    """Parse a module that Numba has written for LLVM, without its calls that count references."""
    from llvmlite.binding import parse_assembly
    from numba.core.cgutils import normalize_ir_text

    module = parse_assembly(_COUNTING.sub("", normalize_ir_text(str(ir_module))))
    module.name = ir_module.name
    module.verify()
    return module


@cache
def make_compilers() -> tuple[Any, Any]:
    """Make the Numba compilers of inner kernels and of entries.

    An inner kernel is not optimised by itself, but once, within its entry. Numba's own compiler optimises every kernel
    and generates machine code for it, and then again within each caller. This takes several times as long.

    References are counted in neither. Kernels create no arrays and keep none, so counting serves no purpose, and in
    small nodes it took longer than the search. The struct of a kernel lies on the stack, where counting would be wrong.
    """
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class NoEnvironment:
        """Inner kernels raise and print nothing, so they need no environment."""

        def set_env(self, name: str, environment: Any) -> None:
            pass

    class UnfinishedLibrary(JITCodeLibrary):  # type: ignore[misc, unused-ignore]
        codegen = NoEnvironment()

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            return 0

        def add_ir_module(self, ir_module: Any) -> None:
            self.add_llvm_module(without_counting(ir_module))

    class EntryLibrary(JITCodeLibrary):  # type: ignore[misc, unused-ignore]
        def add_ir_module(self, ir_module: Any) -> None:
            if ir_module.name == "wrapper":  # Python's call: the references to its arguments are counted
                super().add_ir_module(ir_module)
            else:
                self.add_llvm_module(without_counting(ir_module))

    return compiler_with(Compiler, UnfinishedLibrary), compiler_with(Compiler, EntryLibrary)


def compiler_with(compiler: Any, library_class: Any) -> Any:
    """Make a Numba compiler that collects its code in a library of this class."""
    expected = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "add_ir_module")
    if not all(hasattr(library_class, name) for name in expected):
        import numba

        raise RuntimeError(f"treewright cannot compile its kernels with Numba {numba.__version__}; try another version")

    class KernelCompiler(compiler):  # type: ignore[misc, unused-ignore]
        def define_pipelines(self) -> Any:
            self.state.library = library_class(self.state.targetctx.codegen(), "kernel")
            self.state.library.enable_object_caching()
            return super().define_pipelines()

    return KernelCompiler
