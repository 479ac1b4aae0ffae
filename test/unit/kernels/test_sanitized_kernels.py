"""`iree-tuner sanitize` names a kernel that reads beyond its inputs."""

import pytest
from programs import TWO_PRODUCTS

from iree_tuner.cli.main import run
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import find_places
from iree_tuner.kernels.source import outlook_of
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.program.source import load_program


@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
def test_a_kernel_that_goes_on_behind_its_input_is_named(lab, tmp_path, capsys):
    program, wider = (
        load_program(TWO_PRODUCTS),
        load_program(TWO_PRODUCTS.replace("64x48", "96x48").replace("32x64", "32x96")),
    )
    made = []
    for each in (program, wider):
        outlook = outlook_of(find_places(each, lab.target, lab.compilers, [CGemm()]), [CGemm()])
        (_, site, kernel), *_ = outlook.pairs
        knobs = kernel.variants(site.problem, lab.target)[0]
        made.append((site, kernel.make(site.problem, lab.target, knobs)))
    (site, _), (_, code) = made  # it adds 96 products where there are 64
    path = tmp_path / "kernels.mlir"
    save_kernel_spec([(site, code)], outlook.target, lab.context, path)
    (tmp_path / "program.mlir").write_text(TWO_PRODUCTS)
    assert run(["sanitize", str(tmp_path / "program.mlir"), "--kernels", str(path)]) == 1
    assert "kernel_matmul_32x48x64_f32_f32_f32" in capsys.readouterr().out
