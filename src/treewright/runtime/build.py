"""Compile all kernels into the shared libraries that are shipped with the package: python -m treewright.runtime.build

Numba translates each form of each entry once. LLVM then optimises it for each level of processors. The libraries need
neither Numba nor Python: all they use from outside are functions of the C mathematics library, and memset.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from treewright.runtime.kernels import kernel_sources_digest, list_entries, name_of, roles
from treewright.runtime.library import (
    DIRECTORY,
    INDEX,
    X86_LEVELS,
    LibraryError,
    find_library,
    levels,
    library_name,
    symbol_of,
)
from treewright.runtime.signatures import (
    ARRAY_FLAGS,
    BYTE_ORDER,
    DATA,
    N_DIMENSIONS,
    REFUSED,
    SHAPE,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
    Form,
    Group,
    Leaf,
    forms_of,
    result_of,
    words_of,
)
from treewright.runtime.threads import usable_threads

# The flags of an array, as NumPy numbers them.
CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400

# What LLVM calls the processors of a level.
PROCESSORS = {level: level for level in X86_LEVELS} | {"aarch64": "generic", "arm64": "apple-m1"}

# LLVM takes a processor of level v4 for one that slows down with vectors of 512 bits, as the first ones did, and uses
# vectors half as wide. On later ones the gradients of boosting then take 1.7 times as long. Trees gain nothing from
# wide vectors: the first processors of the level need 4 to 11% more time with them.
PREFERS_WIDE_VECTORS = {"x86-64-v4": "-prefer-256-bit"}
KERNELS_WITH_WIDE_VECTORS = "engines.boosting.losses."

# The symbols that a library may use from outside.
FROM_OUTSIDE = {"exp", "exp2", "lgamma", "log", "log1p", "log2", "sqrt", "memset"}


def build(directory: Path, wanted: Sequence[str], n_processes: int, report: Callable[[str], None]) -> None:
    """Compile all entries for these levels, and write the libraries and their index into a directory."""
    started, sources = time.monotonic(), kernel_sources_digest()
    names = [name_of(entry) for entry in _largest_first()]
    with tempfile.TemporaryDirectory() as temporary:
        objects: dict[str, list[Path]] = {level: [] for level in wanted}
        with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(compile_entry, name, tuple(wanted), temporary) for name in names]
            for count, future in enumerate(as_completed(futures), 1):
                for level, path in future.result():
                    objects[level].append(Path(path))
                report(f"treewright: compiled {count} of {len(names)} kernels, {time.monotonic() - started:.0f} s")
        libraries = {library_name(level): link(sorted(objects[level]), Path(temporary)) for level in wanted}
    if kernel_sources_digest() != sources:
        raise LibraryError("a source was changed while the kernels were compiled; build them again")
    write_libraries(directory, libraries)


def _largest_first() -> list[Callable[..., Any]]:
    """List the entries in descending order of the code that they call, so that no process starts a long job last."""
    entries = list_entries()
    by_module = {(function.__module__, function.__name__): function for function in roles}

    def callees(function: Callable[..., Any], seen: set[Any]) -> set[Any]:
        for name in function.__code__.co_names:
            called = function.__globals__.get(name)
            key = (getattr(called, "__module__", None), getattr(called, "__name__", None))
            if key in by_module and called not in seen:
                seen.add(called)
                callees(by_module[key], seen)
        return seen

    def size(function: Callable[..., Any]) -> int:
        return sum(len(called.__code__.co_code) for called in callees(function, {function}))

    return sorted(entries, key=size, reverse=True)


def compile_entry(name: str, wanted: tuple[str, ...], directory: str) -> list[tuple[str, str]]:
    """Compile all forms of an entry for these levels; returns the level and the path of each object file.

    Its forms are compiled in one process, because they share most of the kernels that they call.
    """
    gc.disable()  # takes a tenth of the time, and frees little
    entry = next(entry for entry in list_entries() if name_of(entry) == name)
    written = []
    for form in range(len(forms_of(entry))):
        symbol = symbol_of(entry, form)
        bitcode = translate_form(entry, form)
        for level in wanted:
            path = Path(directory) / f"{symbol}-{level}.o"
            machine = machine_of(level, wide_vectors=name_of(entry).startswith(KERNELS_WITH_WIDE_VECTORS))
            path.write_bytes(emit(bitcode, symbol, machine))
            written.append((level, str(path)))
    return written


def translate_form(entry: Callable[..., Any], form: int) -> bytes:
    """Translate a form of an entry into LLVM's language, with all kernels that it calls; returns its bitcode."""
    translator = _translator()
    translator.form, translator.symbol = forms_of(entry)[form], symbol_of(entry, form)
    translator.result = result_of(entry)
    translator.forms[entry].compile(tuple(_numba_type(argument) for argument in translator.form))
    return translator.bitcode


class Translator:
    """Numba, set up to translate kernels without loading them, and the form that is being translated."""

    def __init__(self) -> None:
        self.form: Form = ()
        self.symbol = ""
        self.result: str | None = None
        self.bitcode = b""
        self.forms: dict[Callable[..., Any], Any] = {}

    def set_up(self) -> None:
        import numba
        from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
        from numba.core.compiler import Compiler
        from numba.core.cpu import CPUContext

        from treewright.runtime.jit import OPTIONS, compiler_with, translate, without_counting

        translator = self

        class ShippedLibrary(JITCodeLibrary):  # type: ignore[misc, unused-ignore]
            def _optimize_final_module(self) -> None:
                pass

            def _finalize_final_module(self) -> None:
                self._finalize_dynamic_globals()
                self._verify_declare_only_symbols()
                if self._dynamic_globals:
                    raise RuntimeError(f"{translator.symbol} contains an address of this process")
                self._finalized = True
                translator.bitcode = self._final_module.as_bitcode()

            def get_pointer_to_function(self, name: str) -> int:
                self._ensure_finalized()
                return 0

            def add_ir_module(self, ir_module: Any) -> None:
                self.add_llvm_module(without_counting(ir_module))

        def write_call(context: Any, library: Any, function: Any, environment: Any, call_helper: Any) -> None:
            if isinstance(library, ShippedLibrary):
                library.add_ir_module(write_c_function(context, function, translator))

        CPUContext.create_cfunc_wrapper = write_call
        JITCPUCodegen.set_env = lambda *unused: None
        compiler = compiler_with(Compiler, ShippedLibrary)

        def hand_over(function: Callable[..., Any], name: str) -> Any:
            return numba.njit(no_cpython_wrapper=True, pipeline_class=compiler, **OPTIONS)(function)

        self.forms = translate(hand_over)


@cache
def _translator() -> Translator:
    from treewright.runtime.jit import import_numba

    import_numba("compiling the kernels ahead of time")
    translator = Translator()
    translator.set_up()
    return translator


def _numba_type(argument: Leaf | Group | None) -> Any:
    import numba

    types: Any = numba.types
    if argument is None:
        return types.none
    if isinstance(argument, Leaf):
        scalar = numba.from_dtype(np.dtype(argument.dtype))
        n_dimensions = argument.n_dimensions
        return types.Array(scalar, n_dimensions, "C", readonly=argument.read_only) if n_dimensions else scalar
    members = [_numba_type(member) for member in argument.members]
    if argument.record is None:
        return types.Tuple(members)
    if len(set(members)) == 1:
        return types.NamedUniTuple(members[0], len(members), argument.record)
    return types.NamedTuple(members, argument.record)


def write_c_function(context: Any, function: Any, translator: Translator) -> Any:
    """Write the C function in front of an entry, which takes a word for each argument and checks all arrays.

    int32 symbol(int64 *words, int64 head, int64 *result): it returns 0, the status of the entry, or REFUSED plus the
    position of a word.
    """
    from llvmlite import ir
    from numba.core import types

    if str(function.restype) != (translator.result or "none"):
        raise TypeError(f"{translator.symbol} returns {function.restype}, and its annotation says {translator.result}")
    int32, int64 = ir.IntType(32), ir.IntType(64)
    module = context.create_module(translator.symbol)
    entry_type = context.call_conv.get_function_type(function.restype, function.argtypes)
    entry = ir.Function(module, entry_type, function.llvm_func_name)
    words_type = ir.FunctionType(int32, [int64.as_pointer(), int64, int64.as_pointer()])
    outer = ir.Function(module, words_type, translator.symbol)
    words, head, result = outer.args
    builder = ir.IRBuilder(outer.append_basic_block("entry"))
    reader = ArgumentReader(context, builder, words, head, translator.form)
    values = [reader.value(argument, kind) for argument, kind in zip(translator.form, function.argtypes, strict=True)]
    status, value = context.call_conv.call_function(builder, entry, function.restype, function.argtypes, values)
    if function.restype == types.float64:
        value = builder.bitcast(value, int64)
    elif function.restype == types.boolean:
        value = builder.zext(value, int64)
    if function.restype != types.none:
        builder.store(value, result)
    builder.ret(status.code)
    return module


class ArgumentReader:
    """Writes the code that turns the words of a call into the arguments of an entry, after checking each array."""

    def __init__(self, context: Any, builder: Any, words: Any, head: Any, form: Form) -> None:
        from llvmlite import ir

        self.context, self.builder, self.words, self.head = context, builder, words, head
        self.place_of = {leaf.path: place for place, leaf in enumerate(words_of(form))}
        self.byte, self.int32, self.int64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
        self.bit, self.real = ir.IntType(1), ir.DoubleType()

    def value(self, argument: Leaf | Group | None, kind: Any) -> Any:
        """Return the value of an argument; `kind` is its type in Numba."""
        if argument is None:
            return self.context.get_dummy_value()
        if isinstance(argument, Group):
            members = [self.value(member, of) for member, of in zip(argument.members, kind, strict=True)]
            return self.context.make_tuple(self.builder, kind, members)
        if argument.n_dimensions:
            return self._array(argument, kind)
        number = self._word(argument)
        if argument.dtype == "float64":
            return self.builder.bitcast(number, self.real)
        return self.builder.icmp_signed("!=", number, self.int64(0)) if argument.dtype == "bool" else number

    def _array(self, leaf: Leaf, kind: Any) -> Any:
        from numba.core import cgutils

        builder = self.builder
        at = builder.add(self._word(leaf), self.head)
        self._require(self._is_as_compiled(leaf, at), leaf)
        shape, strides = (self._read(at, offset, self.int64.as_pointer()) for offset in (SHAPE, STRIDES))
        lengths = [builder.load(builder.gep(shape, [self.int64(k)])) for k in range(leaf.n_dimensions)]
        steps = [builder.load(builder.gep(strides, [self.int64(k)])) for k in range(leaf.n_dimensions)]
        size = self.int64(1)
        for length in lengths:
            size = builder.mul(size, length)
        array = self.context.make_array(kind)(self.context, builder)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        array.nitems, array.itemsize = size, self.int64(np.dtype(leaf.dtype).itemsize)
        array.data = builder.inttoptr(self._read(at, DATA, self.int64), array.data.type)
        array.shape, array.strides = cgutils.pack_array(builder, lengths), cgutils.pack_array(builder, steps)
        return array._getvalue()

    def _is_as_compiled(self, leaf: Leaf, at: Any) -> Any:
        """Has the array this type, number of dimensions, byte order and flags?"""
        builder = self.builder
        dtype = builder.add(self._read(at, TYPE, self.int64), self.head)
        number, order = self._read(dtype, TYPE_NUMBER, self.int32), self._read(dtype, BYTE_ORDER, self.byte)
        is_type = self.bit(0)
        for same in _type_numbers(leaf.dtype):
            is_type = builder.or_(is_type, builder.icmp_signed("==", number, self.int32(same)))
        n_dimensions = self._read(at, N_DIMENSIONS, self.int32)
        mask = self.int32(CONTIGUOUS | ALIGNED | (0 if leaf.read_only else WRITEABLE))
        conditions = [
            builder.icmp_signed("!=", order, self.byte(ord(">"))),
            builder.icmp_signed("==", n_dimensions, self.int32(leaf.n_dimensions)),
            builder.icmp_signed("==", builder.and_(self._read(at, ARRAY_FLAGS, self.int32), mask), mask),
        ]
        for condition in conditions:
            is_type = builder.and_(is_type, condition)
        return is_type

    def _word(self, leaf: Leaf) -> Any:
        return self.builder.load(self.builder.gep(self.words, [self.int64(self.place_of[leaf.path])]))

    def _read(self, address: Any, offset: int, kind: Any) -> Any:
        place = self.builder.add(address, self.int64(offset))
        return self.builder.load(self.builder.inttoptr(place, kind.as_pointer()))

    def _require(self, condition: Any, leaf: Leaf) -> None:
        with self.builder.if_then(self.builder.not_(condition), likely=False):
            self.builder.ret(self.int32(REFUSED + self.place_of[leaf.path]))


def _type_numbers(dtype: str) -> list[int]:
    """List the numbers that NumPy has for a type: on most systems two of its integer types are the same."""
    return sorted({np.dtype(code).num for code in "?bBhHiIlLqQfd" if np.dtype(code) == np.dtype(dtype)})


def emit(bitcode: bytes, symbol: str, machine: Any) -> bytes:
    """Optimise a translated form for a machine; returns its object file."""
    from llvmlite import binding

    library = machine.create_library(symbol)
    library._final_module.link_in(binding.parse_bitcode(bitcode))
    library._optimize_final_module()
    module = library._final_module
    for item in [*module.functions, *module.global_variables]:
        if not item.is_declaration and item.name != symbol:
            item.linkage = "internal"
    target = machine._tm
    options = binding.create_pipeline_tuning_options(speed_level=0)
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, binding.create_pass_builder(target, options))
    outside = {item.name for item in module.functions if item.is_declaration and not item.name.startswith("llvm.")}
    if not outside <= FROM_OUTSIDE:
        raise RuntimeError(f"{symbol} needs {', '.join(sorted(outside - FROM_OUTSIDE))}, which a library has not")
    return bytes(target.emit_object(module))


@cache
def machine_of(level: str, wide_vectors: bool = False) -> Any:
    """What Numba's translation is compiled by: LLVM's code generator for a level of processors."""
    from numba.core.codegen import AOTCPUCodegen

    class LevelCodegen(AOTCPUCodegen):  # type: ignore[misc, unused-ignore]
        def _customize_tm_features(self) -> str:
            return PREFERS_WIDE_VECTORS.get(level, "") if wide_vectors else ""

    return LevelCodegen("kernels", PROCESSORS.get(level, "generic"))


def link(objects: Sequence[Path], directory: Path) -> bytes:
    """Link object files into a shared library; returns its contents."""
    target = directory / "kernels"
    options = ["-shared", "-nostartfiles", "-o", str(target), *map(str, objects)]
    if sys.platform.startswith("linux"):
        options += ["-Wl,-O1,--gc-sections,--build-id=none,-s,-z,noexecstack,-z,relro,-z,now", "-lm"]
    command = find_linker()
    made = subprocess.run([*command, *options], capture_output=True, text=True)
    if made.returncode != 0:
        raise LibraryError(f"{command[0]} could not link the kernels: {made.stderr.strip() or made.stdout.strip()}")
    return target.read_bytes()


def find_linker() -> list[str]:
    """Return the command that links: that of CC, a C compiler of this system, or that of the package `ziglang`."""
    given = os.environ.get("CC")
    if given:
        return given.split()
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return [found]
    if find_spec("ziglang") is None:
        raise LibraryError("no C compiler was found that links the kernels; install one, or ziglang")
    return [sys.executable, "-m", "ziglang", "cc"]


def write_libraries(directory: Path, libraries: dict[str, bytes]) -> None:
    """Write the libraries, and the index last; another process that builds at the same time writes the same."""
    import llvmlite
    import numba

    directory.mkdir(parents=True, exist_ok=True)
    index = {
        "sources": kernel_sources_digest(),
        "libraries": {name: hashlib.sha256(contents).hexdigest() for name, contents in sorted(libraries.items())},
        "compiled_with": {"numba": numba.__version__, "llvmlite": llvmlite.__version__},
    }
    for name, contents in [*libraries.items(), (INDEX, (json.dumps(index, indent=2) + "\n").encode())]:
        handle, temporary = tempfile.mkstemp(dir=directory)
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        os.chmod(temporary, 0o644)
        os.replace(temporary, directory / name)


def is_up_to_date(directory: Path, wanted: Sequence[str]) -> bool:
    """Does the directory contain libraries of the current sources for these levels?"""
    try:
        for level in wanted:
            find_library(directory, [level])
    except LibraryError:
        return False
    return True


def main() -> int:
    """Build what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m treewright.runtime.build", description=__doc__)
    parser.add_argument("--all-levels", action="store_true", help="also for other processors than this one")
    parser.add_argument("--if-needed", action="store_true", help="do nothing if the library is up to date")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where to write the libraries")
    parser.add_argument("--processes", type=int, default=usable_threads(None))
    options = parser.parse_args()
    own = levels()
    if not own:
        print("treewright: this processor has no level for which kernels are compiled", file=sys.stderr)
        return 1
    wanted = list(X86_LEVELS) if options.all_levels and own[0] in X86_LEVELS else own[:1]
    if options.if_needed and is_up_to_date(options.directory, wanted):
        return 0

    def report(line: str) -> None:
        print(f"\r{line}" if sys.stderr.isatty() else line, end="" if sys.stderr.isatty() else "\n", file=sys.stderr)

    try:
        find_linker()
        build(options.directory, wanted, options.processes, report)
    except (LibraryError, ModuleNotFoundError) as problem:
        print(f"treewright: built without machine code, Numba will compile at run time: {problem}", file=sys.stderr)
        return 1
    for level in wanted:
        path = options.directory / library_name(level)
        print(f"treewright: {path.name}, {path.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
