"""The machine code of a level of processors: what it may use, and nothing that a processor of the level may lack."""

from __future__ import annotations

import pytest

from treewright.runtime.build import KERNELS_WITH_WIDE_VECTORS, machine_of
from treewright.runtime.kernels import list_entries, name_of
from treewright.runtime.library import X86_LEVELS

binding = pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.skipif(
    not binding.get_default_triple().startswith("x86_64"), reason="levels of x86-64 are compiled on x86-64"
)

# Bits of a byte are counted by one instruction (vpopcntb) on processors beyond v4 only.
BEYOND = """
declare <64 x i8> @llvm.ctpop.v64i8(<64 x i8>)
define <64 x i8> @count(<64 x i8> %words) {
  %found = call <64 x i8> @llvm.ctpop.v64i8(<64 x i8> %words)
  ret <64 x i8> %found
}
"""

LOOP = """
define void @add(ptr noalias %sums, ptr noalias %terms, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %sum_at = getelementptr double, ptr %sums, i64 %i
  %term_at = getelementptr double, ptr %terms, i64 %i
  %sum = load double, ptr %sum_at
  %term = load double, ptr %term_at
  %new = fadd double %sum, %term
  store double %new, ptr %sum_at
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


def assembly_of(level: str, text: str) -> str:
    machine = machine_of(level, wide_vectors=True)._tm
    module = binding.parse_assembly(text)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine.emit_assembly(module)


@pytest.mark.parametrize("level", X86_LEVELS)
def test_code_of_a_level_has_no_instructions_of_later_processors(level: str) -> None:
    assert "vpopcntb" not in assembly_of(level, BEYOND)


@pytest.mark.parametrize(("level", "register"), [("x86-64-v2", "xmm"), ("x86-64-v3", "ymm"), ("x86-64-v4", "zmm")])
def test_loops_can_use_the_widest_vectors_of_the_level(level: str, register: str) -> None:
    assembly = assembly_of(level, LOOP)
    assert next(name for name in ("zmm", "ymm", "xmm") if name in assembly) == register


def test_the_kernels_that_gain_from_wide_vectors_exist() -> None:
    assert any(name_of(entry).startswith(KERNELS_WITH_WIDE_VECTORS) for entry in list_entries())
