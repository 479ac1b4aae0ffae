"""A spec is not lost because its place became unwritable."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from programs import ZERO_MATMUL
from test_tune_output import CASES, LAYERS, SOURCES

from iree_tuner.cli import tune as command
from iree_tuner.cli.main import run
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import write
from iree_tuner.measure.statistics import Comparison
from iree_tuner.spec.io import shipped_specs
from iree_tuner.tuning.options import TuningOptions
from iree_tuner.tuning.source import CandidateSource
from iree_tuner.tuning.verdict import EarlierVerdict

SHIPPED = next(each for each in shipped_specs("llvm-cpu") if each.name == "mlp_batch1.spec.mlir")
VECMAT = """
func.func @main(%a: tensor<1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024xf32>) -> tensor<1024xf32>
  %r = linalg.vecmat ins(%a, %b : tensor<1024xf32>, tensor<1024x1024xf32>)
      outs(%init : tensor<1024xf32>) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
"""
"""The shipped spec configures it."""

EMPTY_SPEC = """
module attributes { transform.with_named_sequence } {
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes { iree_codegen.tuning_spec_entrypoint } {
    transform.yield %arg0 : !transform.any_op
  }
}
"""


FULL_SPEC = SHIPPED.read_text()
OTHER_SPEC = f"// another one\n{EMPTY_SPEC}"


class Result:
    def __init__(self, refused):
        self.refused = refused

    def save(self, path):
        if path == self.refused:
            raise TunerError("cannot write: No space left on device", location=str(path))
        Path(path).write_text("spec")
        return path


def test_a_full_disk_sends_the_spec_elsewhere(tmp_path, capsys):
    wanted = tmp_path / "model.spec.mlir"
    kept = command._save(Result(refused=wanted).save, wanted)
    assert kept != wanted
    assert kept.read_text() == "spec"


def test_kernels_compete_in_runs_with_a_budget_in_long_ones_and_where_they_are_asked_for(
    tmp_path, monkeypatch
):
    class Installed(CandidateSource):
        def __init__(self, name):
            self.name = self.noun = name

    both = {name: Installed(name) for name in ("kernels", "others")}
    monkeypatch.setattr(command, "known_sources", lambda: both)

    def names(outputs=None, **options):
        found = command._sources(TuningOptions(**options), command.Outputs(**(outputs or {})))
        return [each.name for each in found]

    asked = {"kernels": tmp_path / "k.mlir"}
    assert names() == names(budget_s=60.0) == names(budget_s=9.0) == ["kernels", "others"]
    assert names(effort="quick") == names(effort="smoke") == []
    assert names(knobs=("th_k=4",)) == names(self_test=True) == []
    assert names({"no_kernels": True}) == names({"without": ("kernels",)}) == ["others"]
    assert names({"without": ("kernels", "others")}) == []
    assert names(asked, effort="smoke") == names(asked, knobs=("th_k=4",)) == ["kernels"]
    with pytest.raises(UsageError, match="--no-kernels excludes --kernels"):
        names(asked | {"no_kernels": True})
    assert names({"also": ("others",)}, effort="smoke") == ["others"]
    with pytest.raises(UsageError, match="--without excludes --with: others"):
        names({"also": ("others",), "without": ("others",)})
    for key in ("also", "without"):
        with pytest.raises(UsageError, match="unknown source 'kernel'"):
            names({key: ("kernel",)})


def test_kernels_are_written_next_to_the_spec():
    assert command._kernels_beside(Path("a/vit.spec.mlir")) == Path("a/vit.kernels.mlir")
    assert command._kernels_beside(Path("best.mlirbc")) == Path("best.kernels.mlir")


def test_an_empty_spec_does_not_replace_another(tmp_path, capsys, monkeypatch):
    """As of a self-test, a tie, or a run that could not compare the program."""
    monkeypatch.chdir(tmp_path)
    program, spec = Path("mm.mlir"), Path("mm.spec.mlir")  # named as in other tests: it is compiled once
    program.write_text(ZERO_MATMUL)
    spec.write_text("// found yesterday")
    how = ["--effort", "smoke", "--candidates", "1", "--keep-flags", "--no-profile", "--no-db", "--json"]
    command = ["tune", str(program), "--self-test", *how, "-o", str(spec)]
    assert run(command) == 0
    assert spec.read_text() == "// found yesterday"
    said = capsys.readouterr()
    assert f"{spec} stays as it was" in " ".join(said.err.split()).replace("- ", "-")
    assert json.loads(said.out.splitlines()[-1])["spec"] is None
    spec.unlink()
    assert run(command) == 0
    assert "transform.named_sequence" in spec.read_text()


@pytest.mark.parametrize(
    ("spec", "options", "first"),
    [
        (FULL_SPEC, (), True), (EMPTY_SPEC, (), False), ("// found yesterday", (), False), ("", (), False),
        (FULL_SPEC, ("--no-starters",), False), (FULL_SPEC, ("--starter", "other.mlir"), True),
    ],
)  # fmt: skip
def test_an_earlier_result_is_tried_first(tmp_path, monkeypatch, spec, options, first):
    """If it is a spec, and starters are tried at all; a faster result replaces it."""
    asked, found = [], CASES["win"][0]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "iree_tuner.cli.tune.tune_program",
        lambda _, given, **__: asked.extend(Path(each).read_text() for each in given.starters or ()) or found,
    )
    monkeypatch.setattr(type(found), "save", lambda _, path: write(Path(path), "new"))
    for name, text in (("mm.mlir", ZERO_MATMUL), ("mm.spec.mlir", spec), ("other.mlir", OTHER_SPEC)):
        Path(name).write_text(text)
    assert run(["tune", "mm.mlir", "--no-db", "-o", "mm.spec.mlir", *options]) == 0
    assert asked[:1] == [FULL_SPEC] or not first
    assert (FULL_SPEC in asked, OTHER_SPEC in asked) == (first, "other.mlir" in options)
    assert Path("mm.spec.mlir").read_text() == "new"


@pytest.mark.parametrize(("case", "kept"), [("uncertain", True), ("tie", True), ("win", False)])
def test_only_a_faster_result_replaces_files(tmp_path, capsys, monkeypatch, case, kept):
    """The spec, that of kernels, and the compiled program."""
    found = replace(CASES[case][0], changes=LAYERS, sources=SOURCES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("iree_tuner.cli.tune.tune_program", lambda *_, **__: found)
    monkeypatch.setattr(type(found), "save", lambda _, path: Path(path).write_text("new"))
    monkeypatch.setattr(type(found), "save_changes", lambda _, __, path: Path(path).write_text("new"))
    monkeypatch.setattr(type(found), "vmfb", lambda _: b"new")
    Path("mm.mlir").write_text(ZERO_MATMUL)
    names = ["mm.spec.mlir", "mm.kernels.mlir", "mm.vmfb"]
    for each in names:
        Path(each).write_text("old")
    outputs = ["-o", names[0], "--kernels", names[1], "--vmfb", names[2]]
    assert run(["tune", "mm.mlir", "--no-db", *outputs]) == 0
    out = capsys.readouterr().out
    assert [Path(each).read_text() for each in names] == (["old"] if kept else ["new"]) * 3
    assert [f"{each} stays as it was" in out for each in names] == [kept] * 3
    spec, kernels, vmfb = (f"uncertain.{each}" if kept else each for each in names)
    assert [Path(each).read_text() for each in (spec, kernels, vmfb)] == ["new"] * 3
    assert f"Wrote {vmfb}" in out
    assert f"--spec {spec} --kernels {kernels} " in out


NEW = Comparison(100.0, 101.0, 0.99, (0.97, 1.02), 0.99, (0.99,), "tie", 96)
FASTER = Comparison(100.0, 90.0, 1.11, (1.09, 1.13), 1.11, (1.11,), "win", 96)


@pytest.mark.parametrize(
    ("earlier", "said", "kept"),
    [
        (
            EarlierVerdict("kept", NEW),
            "Kept mm.spec.mlir: the new result is not faster, 0.99x (0.97 to 1.02)",
            True,
        ),
        (EarlierVerdict("kept"), "Kept mm.spec.mlir: there is no faster result", True),
        (EarlierVerdict("beaten", FASTER), "compared with the earlier result: 1.11x (1.09 to 1.13)", False),
        (
            EarlierVerdict("none", note="wrong results: x"),
            "the earlier result does not count: wrong results: x",
            False,
        ),
    ],
)
@pytest.mark.parametrize("kernels", [True, False])
def test_only_a_result_that_beats_an_earlier_one_replaces_its_files(
    tmp_path, capsys, monkeypatch, earlier, said, kept, kernels
):
    """Both its files; those of a result without kernels do not stay next to its spec."""
    changes = LAYERS if kernels else ()
    found = replace(CASES["win"][0], changes=changes, sources=SOURCES, earlier=earlier)
    monkeypatch.chdir(tmp_path)
    asked = []
    monkeypatch.setattr(
        "iree_tuner.cli.tune.tune_program", lambda *_, **how: asked.append(how["earlier"]) or found
    )
    monkeypatch.setattr(type(found), "save", lambda _, path: Path(path).write_text("new"))
    monkeypatch.setattr(type(found), "save_changes", lambda _, __, path: Path(path).write_text("new"))
    for name, text in (
        ("mm.mlir", ZERO_MATMUL),
        ("mm.spec.mlir", FULL_SPEC),
        ("mm.kernels.mlir", EMPTY_SPEC),
    ):
        Path(name).write_text(text)
    assert run(["tune", "mm.mlir", "--no-db", "--json"]) == 0
    assert (asked[0].path, asked[0].kernels) == (Path("mm.spec.mlir"), Path("mm.kernels.mlir"))
    assert len(asked[0].workloads) == 2
    out = capsys.readouterr()
    assert said in " ".join(out.err.split())
    record = json.loads(out.out.splitlines()[-1])
    assert record["earlier"]["state"] == earlier.state
    assert record["spec"] == (None if kept else "mm.spec.mlir")
    assert (Path("mm.spec.mlir").read_text() == FULL_SPEC) == kept
    if kept:
        assert Path("mm.kernels.mlir").read_text() == EMPTY_SPEC
        assert "--spec mm.spec.mlir --kernels mm.kernels.mlir" in out.err
    elif kernels:
        assert Path("mm.kernels.mlir").read_text() == "new"
    else:
        assert Path("earlier.mm.kernels.mlir").read_text() == EMPTY_SPEC
        assert not Path("mm.kernels.mlir").exists()
    assert not list(tmp_path.glob("uncertain*"))


def test_an_earlier_result_that_was_not_compared_stays(tmp_path, capsys, monkeypatch):
    """As after an interruption. What is new is not lost."""
    found = replace(CASES["interrupted"][0], earlier=EarlierVerdict("not compared", note="interrupted"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("iree_tuner.cli.tune.tune_program", lambda *_, **__: found)
    monkeypatch.setattr(type(found), "save", lambda _, path: Path(path).write_text("new"))
    Path("mm.mlir").write_text(ZERO_MATMUL)
    Path("mm.spec.mlir").write_text(FULL_SPEC)
    assert run(["tune", "mm.mlir", "--no-db"]) == 130
    assert Path("mm.spec.mlir").read_text() == FULL_SPEC
    assert Path("uncertain.mm.spec.mlir").read_text() == "new"
    assert "not compared with the earlier result: interrupted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("broken", "states"),
    [
        (("", ""), {"kept", "beaten", "none"}),  # on a busy machine it may look slower than the default
        (("distribution = [128, 0]", "distribution = [128, 0, 1, 1]"), {"none"}),
        (("[1024] : !transform.param<i64>", "[1000] : !transform.param<i64>"), {"none"}),
    ],
)
def test_a_spec_on_the_disk_is_measured_with_what_is_new(tmp_path, capsys, monkeypatch, broken, states):
    """One that does not compile, or matches nothing, counts as none."""
    monkeypatch.chdir(tmp_path)
    Path("v.mlir").write_text(VECMAT)
    before = FULL_SPEC.replace(*broken) if broken[0] else FULL_SPEC
    Path("v.spec.mlir").write_text(before)
    how = ["--effort", "smoke", "--candidates", "1", "--keep-flags", "--no-profile", "--no-db", "--jobs", "1"]
    assert run(["tune", "v.mlir", *how, "--no-starters", "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    earlier = record["earlier"]
    assert earlier["state"] in states
    assert earlier["note"] or earlier["state"] != "none"
    assert any(each["what"] == "the earlier result" for each in record["steps"])
    replaced = Path("v.spec.mlir").read_text() != before
    assert replaced <= (record["verdict"] == "win")
    assert replaced <= (earlier["state"] in ("beaten", "none"))
    assert (record["changes"] != []) == (earlier["state"] == "kept")


def test_a_spec_that_contradicts_the_programs_own_counts_as_none(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plain.mlir").write_text(VECMAT)
    Path("own.mlir").write_text(FULL_SPEC.replace("vector_reduction = [0, 16]", "vector_reduction = [0, 4]"))
    Path("v.spec.mlir").write_text(FULL_SPEC)
    assert run(["spec", "embed", "plain.mlir", "own.mlir", "-o", "v.mlir"]) == 0
    assert run(["tune", "v.mlir", "--no-db", "--jobs", "1"]) == 1  # the program's own spec keeps its dispatch
    assert "the earlier result does not count: conflict" in " ".join(capsys.readouterr().err.split())
    assert Path("v.spec.mlir").read_text() == FULL_SPEC
