"""The decorators of the kernels, their compilation by Numba, and the cache of their machine code.

A kernel is an ordinary Python function until its compiled form is requested. Small tables are grown by the plain
functions, which finish before Numba would be imported. Both forms have the same source and give the same bits.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# The packages whose modules may contain kernels, relative to the package. The digest of all their sources identifies
# the compiled code.
PACKAGE = Path(__file__).parent.parent
KERNEL_PACKAGES = ("runtime", "encoding", "engines", "tree/pruning")

_roles: dict[Callable[..., Any], str] = {}
_replacements: dict[Callable[..., Any], Callable[[], Any]] = {}
_compiled: dict[Callable[..., Any], Any] = {}
_lock = threading.Lock()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that only other kernels call.

    Numba compiles it once for each combination of argument types, and a literal in a call has its own type. Call
    kernels with the named constants of `layout`, not with 0, -1 or True.
    """
    _roles[function] = "kernel"
    return function


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that is compiled as a part of its callers."""
    _roles[function] = "part"
    return function


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a kernel that Python calls; its machine code is cached together with that of all kernels it calls."""
    _roles[function] = "entry"
    return function


def replaced(build: Callable[[], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a plain function whose compiled form `build` returns."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        _replacements[function] = build
        return function

    return mark


def _build_borrow() -> Any:
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def borrow(typing_context: Any, array: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            view.meminfo = cgutils.get_null_value(view.meminfo.type)
            view.parent = cgutils.get_null_value(view.parent.type)
            return view._getvalue()

        return array(array), write

    return borrow


@replaced(_build_borrow)
def borrow(array: Any) -> Any:
    """Return the same array without a reference to its memory; the caller must keep the memory alive.

    Numba counts references whenever an array is taken out of a struct, by an atomic operation that blocks the counter's
    memory for all cores. In small nodes this took longer than the search. References to a borrowed array are not
    counted.
    """
    return array


def _build_prefetch() -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            address = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
            # The arguments mean: for reading, with moderate locality, as data.
            builder.call(function, [address, number(0), number(2), number(1)])
            return context.get_dummy_value()

        return types.void(array, types.uint64), write

    return prefetch


@replaced(_build_prefetch)
def prefetch(array: Any, place: Any) -> None:
    """Start to load the entry `place` of an array, as if it were flat, into the cache, without waiting for it."""


def compile_error(problem: Exception) -> str:
    """Return Numba's message about a function that it cannot compile in one line: the cause, not the compiler step.

    >>> compile_error(ValueError("Failed in nopython mode (step: types)\\nNo such function <f at 0x7f12> for:\\nmore"))
    'No such function <f> for'
    """
    plain = re.sub(r"\x1b\[[0-9;]*m| at 0x[0-9a-f]+", "", str(problem))
    lines = [" ".join(line.split()) for line in plain.splitlines()]
    around = ("Failed in", "During:", "File ", "This error", "^")
    message = next((line for line in lines if line and not line.startswith(around)), type(problem).__name__).rstrip(":")
    return message if len(message) <= 200 else f"{message[:197]}..."


def compile_row_loop(function: Callable[..., Any]) -> Any:
    """Compile a loop that writes, for each row, the two numbers that a user's function of two numbers returns."""
    import numba

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    of_row = numba.njit(**options)(function) if isinstance(function, types.FunctionType) else function

    def drive(first: Any, second: Any, first_out: Any, second_out: Any) -> None:
        for i in range(np.uint64(len(first))):
            one, other = of_row(first[i], second[i])
            first_out[i] = one
            second_out[i] = other

    return numba.njit(**options)(drive)


def compile_callback(functions: Sequence[Any], n_figures: int, line: int = 0) -> Any:
    """Compile the first of a user's functions for `impurity.call_own`, with the others that it calls.

    It receives a copy of each set of `n_figures`, as an array, or as three numbers that are `line` entries apart. If it
    raises an exception or does not return a finite number, the result is infinite. The second half of `workspace` then
    contains a 1 and the figures. Its indices are checked, so that no error of a user can write outside of an array.
    """
    import numba

    function, array_of = _compile_together(functions), numba.carray
    step, apart = (1, line) if line else (n_figures, 1)

    def call_with_array(figures: Any, workspace: Any, place: Any) -> Any:
        for k in range(n_figures):
            workspace[k] = figures[place * n_figures + k]
        return float(function(array_of(workspace, (n_figures,))))

    def call_with_numbers(figures: Any, workspace: Any, place: Any) -> Any:
        return float(function(figures[place], figures[place + line], figures[place + 2 * line]))

    call = numba.njit(call_with_numbers if line else call_with_array)

    def call_all(figures: Any, workspace: Any, results: Any, count: Any) -> Any:
        """Are all results finite? The loop catches no exceptions, which makes it fast."""
        doubt = 0.0
        for place in range(count):
            results[place] = call(figures, workspace, place)
            doubt += 0.0 * results[place]
        return doubt == 0.0

    call_fast = numba.njit(call_all)

    def evaluate(figures: Any, workspace: Any, results: Any, count: Any) -> None:
        try:
            if call_fast(figures, workspace, results, count):
                return
        except Exception:
            pass
        for place in range(count):
            results[place] = np.inf
            try:
                results[place] = call(figures, workspace, place)
            except Exception:
                pass
            if not np.isfinite(results[place]):
                results[place] = np.inf
                if workspace[n_figures] == 0.0:
                    for k in range(n_figures):
                        workspace[n_figures + 1 + k] = figures[place * step + k * apart]
                workspace[n_figures] = 1.0

    pointer = numba.types.CPointer(numba.types.float64)
    return numba.cfunc(numba.types.void(pointer, pointer, pointer, numba.types.int64))(evaluate)


def _compile_together(functions: Sequence[Any]) -> Any:
    """Return the first of these functions for Numba; the names of the others in it refer to their compiled forms."""
    import numba

    forms: dict[Callable[..., Any], Any] = {}
    for function in functions:
        if not isinstance(function, types.FunctionType):
            return function  # already compiled
        cells = tuple(types.CellType(cell.cell_contents) for cell in function.__closure__ or ())
        scope = dict(function.__globals__)
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        copy.__kwdefaults__ = function.__kwdefaults__
        forms[function] = numba.njit(nogil=True, error_model="numpy", boundscheck=True)(copy)
    for form in forms.values():
        scope, cells = form.py_func.__globals__, form.py_func.__closure__ or ()
        scope.update({name: forms[value] for name, value in scope.items() if _is_form_of(value, forms)})
        for cell in cells:
            if _is_form_of(cell.cell_contents, forms):
                cell.cell_contents = forms[cell.cell_contents]
    return forms[functions[0]]


def is_compiled() -> bool:
    """Have compiled kernels been requested in this process?"""
    return bool(_compiled)


def compiled(function: Callable[..., Any]) -> Any:
    """Return the compiled form of an entry kernel; the first call imports Numba."""
    with _lock:
        if not _compiled:
            _compiled.update(_compile_all())
    return _compiled[function]


def _compile_all() -> dict[Callable[..., Any], Any]:
    """Pass all kernels to Numba, which compiles each when it is first called.

    Numba finds the callees of a kernel among its global names. The plain functions keep their globals, because another
    thread may be running them. The compiled functions get copies in which every kernel is the compiled one.
    """
    for path in kernel_sources():
        importlib.import_module(".".join(("treewright", *path.relative_to(PACKAGE).with_suffix("").parts)))
    _announce_compilation()
    scopes: dict[str, dict[str, Any]] = {}
    for function in _roles:
        scopes.setdefault(function.__module__, dict(vars(sys.modules[function.__module__])))
    forms = {function: build() for function, build in _replacements.items()}
    for function, role in _roles.items():
        copy = types.FunctionType(function.__code__, scopes[function.__module__], function.__name__)
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        forms[function] = _hand_to_numba(copy, role)
    for scope in scopes.values():
        scope.update({name: forms[value] for name, value in scope.items() if _is_form_of(value, forms)})
    return forms


def _announce_compilation() -> None:
    """Print on a terminal why the first fit takes longer."""
    if sys.stderr is not None and sys.stderr.isatty() and not any(Path(cache_directory()).rglob("*.nbi")):
        print("treewright: compiling its kernels, once; this takes about 15 seconds", file=sys.stderr)


def _is_form_of(value: Any, forms: dict[Callable[..., Any], Any]) -> bool:
    return isinstance(value, types.FunctionType) and value in forms


def _hand_to_numba(function: Callable[..., Any], role: str) -> Any:
    """Create a dispatcher for this kernel.

    Division follows IEEE (no exception inside a kernel). Fast-math is off: sums keep their written order, so that
    results have the same bits everywhere.
    """
    import numba

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if role == "part":
        return numba.njit(inline="always", **options)(function)
    if role == "kernel":
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return numba.njit(pipeline_class=_make_inner_compiler(), **options)(function)
    usual_directory = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = cache_directory()
    try:
        return numba.njit(cache=True, no_cfunc_wrapper=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = usual_directory


_inner_compiler: Any = None

# Calls that count references to arrays, in the code that Numba generates for LLVM.
_COUNTING = re.compile(r'^ *call void @"?NRT_(?:incref|decref)"?\(.*\n', re.MULTILINE)


def _make_inner_compiler() -> Any:
    """Make a Numba compiler that does not optimise an inner kernel, which is optimised once, within its entry.

    Numba's own compiler optimises every kernel and generates machine code for it, and then again within each caller.
    This takes several times as long. Inner kernels create no arrays and keep none, so references need not be counted in
    them: in small nodes this took longer than the search. If Numba's internals change, its own compiler is used
    instead.
    """
    global _inner_compiler
    if _inner_compiler is not None:
        return _inner_compiler
    from llvmlite.binding import parse_assembly
    from numba.core.cgutils import normalize_ir_text
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
            module = parse_assembly(_COUNTING.sub("", normalize_ir_text(str(ir_module))))
            module.name = ir_module.name
            module.verify()
            self.add_llvm_module(module)

    class InnerCompiler(Compiler):  # type: ignore[misc, unused-ignore]
        def define_pipelines(self) -> Any:
            self.state.library = UnfinishedLibrary(self.state.targetctx.codegen(), "kernel")
            self.state.library.enable_object_caching()
            return super().define_pipelines()

    expected = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "add_ir_module")
    as_expected = all(hasattr(JITCodeLibrary, name) for name in expected)
    _inner_compiler = InnerCompiler if as_expected else Compiler
    return _inner_compiler


def build_struct(name: str, fields: Sequence[tuple[str, tuple[str, int]]]) -> Any:
    """Compile a function that creates a struct with these fields (name, and type name with number of dimensions).

    Kernels pass the struct by reference. The name of its type is part of every kernel's symbol, so it is short.
    """
    import numba
    from numba.experimental import structref

    @structref.register
    class StructType(numba.types.StructRef):  # type: ignore[misc, unused-ignore]
        def __init__(self, typed: list[tuple[str, Any]]) -> None:
            super().__init__(typed)
            self.name = f"treewright.{name}.{hashlib.sha256(repr(typed).encode()).hexdigest()[:12]}"

    def numba_type(dtype: str, n_dimensions: int) -> Any:
        scalar = numba.from_dtype(np.dtype(dtype))
        return numba.types.Array(scalar, n_dimensions, "C") if n_dimensions else scalar

    struct = StructType([(field, numba_type(*kind)) for field, kind in fields])
    new = structref.new
    return numba.njit(inline="always")(lambda: new(struct))


def kernel_sources(package: Path = PACKAGE) -> list[Path]:
    """List the files that may contain kernels, in subdirectories too; `__init__.py` files contain none."""
    found = (path for name in KERNEL_PACKAGES for path in (package / name).rglob("*.py"))
    return sorted(path for path in found if path.name != "__init__.py")


def kernel_sources_digest(package: Path = PACKAGE) -> str:
    """Compute a short digest of all kernel sources and of everything else that affects their machine code.

    Numba's own cache checks only the file of the function it compiles, so a change in a function of another file would
    leave stale code in use. A directory named by this digest cannot contain stale code.
    """
    import numba

    digest = hashlib.sha256()
    for path in kernel_sources(package):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    for setting in (numba.__version__, numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUG):
        digest.update(repr(setting).encode())
    return digest.hexdigest()[:16]


def cache_directory() -> str:
    """Return the directory of compiled kernels: NUMBA_CACHE_DIR, or the user's cache, or the temporary directory."""
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    for base in (Path(home) if home else Path.home() / ".cache", Path(tempfile.gettempdir())):
        directory = base / "treewright" / kernel_sources_digest()
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return str(directory)
    return ""
