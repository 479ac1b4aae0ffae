"""What `benchmarks/gpu_limits.py` reads from listings."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import gpu_limits

LISTING = """
.text.other:
.L_x_0:
        /*0000*/                   HMMA.16816.F32 R4, R8, R12, R4 ;
        /*0010*/              @!P0 BRA `(.L_x_0) ;
\t.section\t.text.main,"ax"
.text.main:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E.128 R4, [R2.64] ;
        /*0020*/                   STS.128 [R9], R4 ;
        /*0030*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
.L_x_2:
        /*0040*/                   LDSM.16.M88.4 R8, [R10] ;
        /*0050*/                   HMMA.16816.F32 R4, R8, R12, R4 ;
        /*0060*/                   HMMA.16816.F32 R16, R8, R14, R16 ;
        /*0070*/               @P1 BRA `(.L_x_2) ;
        /*0080*/              @!P0 BRA `(.L_x_1) ;
        /*0090*/                   EXIT ;
\t.section\t.nv.info,"",@"SHT_CUDA_INFO"
"""
TOLD = """'main' for 'sm_90'
ptxas info    : Function properties for main
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 49152 bytes smem
"""


def test_a_kernel_is_read_from_what_the_tools_print() -> None:
    kernel = gpu_limits.kernel_of(TOLD, LISTING, {"main": 128})
    assert (kernel.name, kernel.threads, kernel.registers) == ("main", 128, 168)
    assert (kernel.spilled_bytes, kernel.shared_bytes, kernel.instructions) == (20, 49152, 10)
    assert kernel.blocks == (3, "registers")


def test_the_loop_is_the_innermost_one_that_multiplies() -> None:
    kernel = gpu_limits.kernel_of(TOLD, LISTING, {"main": 128})
    assert kernel.loop == {"tensor core": 2, "load shared": 1, "other": 1}


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks"),
    [
        (128, 32, 0, (16, "registers")),
        (256, 24, 0, (8, "threads")),
        (32, 16, 0, (32, "blocks")),
        (128, 32, 100_000, (2, "shared memory")),
        (0, 0, 0, (0, "unknown")),
    ],
)
def test_what_keeps_blocks_off_a_multiprocessor(threads, registers, shared, blocks) -> None:
    assert gpu_limits.blocks_of(threads, registers, shared) == blocks
