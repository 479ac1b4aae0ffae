"""Which trials of kernels may stand for which: another problem, device, tool or source is another study."""

import importlib
import shutil
import sys
from dataclasses import fields, replace
from functools import cache
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import conv, matmul, site_in
from wrong_kernels import NotMade, Transposed

from iree_tuner.kernels import c_code
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.executable import digest_of
from iree_tuner.kernels.kernel import Code, Launch
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.kernels.variants import digest_of_code, study_of
from iree_tuner.store.trial import Setting, from_json, to_json

SETTING = Setting("3.13.0", "3.13.0", "llvm-cpu:host", ("--flag",), "local-task", "a processor", 2)
TEXT = matmul(32, 48, 64)
PLAIN, RELU = (
    TEXT,
    TEXT.replace(
        "return %r : tensor<32x48xf32>",
        """%out = tensor.empty() : tensor<32x48xf32>
      %p = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%r : tensor<32x48xf32>) outs(%out : tensor<32x48xf32>) {
      ^bb0(%x: f32, %o: f32):
        %y = arith.maximumf %x, %zero : f32
        linalg.yield %y : f32
      } -> tensor<32x48xf32>
      return %p : tensor<32x48xf32>""",
    ),
)


class Other(CGemm):
    """The same code by another name."""

    name = "other"


@pytest.fixture(scope="module")
def study(only_dispatch):
    """The key of a kernel on the only problem of a program."""

    extracted, site_of = cache(only_dispatch), cache(site_in)

    def find(text=PLAIN, kernel=None, setting=SETTING):
        site, dispatch = site_of(text), extracted(text)
        return study_of(site, kernel or CGemm(), dispatch.harness, dispatch.workload, 10, setting)

    return find


@pytest.fixture(scope="module")
def base(study):
    """The key of the C kernel on the product."""
    return study()


def test_equal_problems_are_one_study(study):
    assert study().digest == study().digest
    assert study().kernel == "c_gemm_f32"
    assert from_json(to_json(study())) == study()
    assert replace(study(), space_label="DoubleTilingExpert").kernel == ""


@pytest.mark.parametrize(
    "text",
    [
        RELU,
        matmul(32, 48, 80),
        matmul(32, 48, 64, transposed=True),
        conv((6, 9), 12, 32),
        conv((6, 9), 12, 32, more=1),
    ],
    ids=["epilogue", "size", "layout", "convolution", "rows that are not read"],
)
def test_another_problem_is_another_study(study, text):
    assert study(text).digest != study().digest
    assert study(text).code != study().code


def test_an_epilogue_leaves_the_workload_as_it_is(study):
    assert study(RELU).workload == study().workload


def test_rows_that_are_not_read_matter(study):
    assert study(conv((6, 9), 12, 32, more=1)).code != study(conv((6, 9), 12, 32)).code


@pytest.mark.parametrize("name", [each.name for each in fields(Setting)])
def test_another_setting_is_another_study(base, name):
    """Device, driver, processor, flags, target, releases, caches, protocol."""
    now = getattr(SETTING, name)
    more = {str: "other", int: 1, bool: True, tuple: ("other",)}[type(now)]
    value = not now if isinstance(now, bool) else now + more
    assert replace(base, setting=replace(SETTING, **{name: value})).digest != base.digest


OTHER = {
    str: st.text(max_size=8), int: st.integers(0, 1 << 20), bool: st.booleans(),
    tuple: st.lists(st.text(max_size=8), max_size=3).map(tuple),
}  # fmt: skip


@pytest.mark.exhaustive  # the test before this one changes each field once
@given(data=st.data(), name=st.sampled_from([each.name for each in fields(Setting)]))
def test_any_other_setting_is_another_study(base, data, name):
    now = getattr(SETTING, name)
    value = data.draw(OTHER[type(now)].filter(lambda each: each != now))
    assert replace(base, setting=replace(SETTING, **{name: value})).digest != base.digest


@pytest.mark.parametrize("kernel", [Other(), Transposed(), NotMade()], ids=lambda each: each.name)
def test_another_kernel_is_another_study(study, kernel):
    assert study(kernel=kernel).digest != study().digest
    assert study(kernel=kernel).code == study().code


def test_another_compiler_is_another_kernel(monkeypatch):
    before = digest_of(CGemm())
    monkeypatch.setattr(c_code, "compiler_version", lambda: "another compiler 1.2.3")
    assert digest_of(CGemm()) != before


def test_the_compilers_version_is_known():
    if not c_code.compiler():
        pytest.skip("no C compiler")
    assert any(character.isdigit() for character in c_code.compiler_version())


def test_another_triton_is_another_kernel(monkeypatch):
    found = set()
    for version in ("3.6.0", "3.9.0", "3.9.0"):
        monkeypatch.setattr("iree_tuner.kernels.triton_code.version", lambda _, version=version: version)
        found.add(digest_of(TritonGemm()))
    assert len(found) == 2


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A kernel in a package of its own, with a file of C, and a base in another package."""
    for name, text in {
        "some_kernel_base/__init__.py": "class Base:\n    backend = 'llvm-cpu'\n",
        "some_kernels/__init__.py": "",
        "some_kernels/mine.py": "from some_kernel_base import Base\nclass Mine(Base):\n    name = 'mine'\n",
        "some_kernels/code/mine.c": "int x;\n",
        "some_single_kernel.py": "class Single:\n    name = 'single'\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [each for each in sys.modules if each.startswith("some_")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "name",
    [
        "some_kernels/code/mine.c",
        "some_kernels/mine.py",
        "some_kernels/new.h",
        "some_kernel_base/__init__.py",
    ],
)
def test_whatever_is_in_a_kernels_package_counts(package, name):
    kernel = importlib.import_module("some_kernels.mine").Mine()
    before = digest_of(kernel)
    assert digest_of(kernel) == before
    with (package / name).open("a") as stream:
        stream.write(" \n")
    assert digest_of(kernel) != before


def test_what_is_no_source_does_not_count(package):
    kernel = importlib.import_module("some_kernels.mine").Mine()
    shutil.rmtree(package / "some_kernels" / "__pycache__", ignore_errors=True)
    before = digest_of(kernel)
    for name in ("some_kernels/__pycache__/mine.pyc", "some_kernels/.mine.py.swp", "else.py"):
        path = package / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("other")
    assert digest_of(kernel) == before


def test_a_file_that_moves_is_a_change(package):
    kernel = importlib.import_module("some_kernels.mine").Mine()
    before = digest_of(kernel)
    (package / "some_kernels/code/mine.c").rename(package / "some_kernels/code/other.c")
    assert digest_of(kernel) != before


def test_of_a_module_without_a_package_only_the_file_counts(package):
    kernel = importlib.import_module("some_single_kernel").Single()
    before = digest_of(kernel)
    (package / "beside.py").write_text("")
    assert digest_of(kernel) == before
    (package / "some_single_kernel.py").write_text("class Single:\n    name = 'single'\n\n")
    assert digest_of(kernel) != before


def test_a_class_without_a_file_is_nobody_elses(monkeypatch):
    module = SimpleNamespace(__file__=None, __package__="")
    monkeypatch.setitem(sys.modules, "typed_by_hand", module)
    kernel = type("Typed", (), {"__module__": "typed_by_hand", "name": "typed"})()
    assert digest_of(kernel) != digest_of(kernel)


@pytest.mark.parametrize(
    "change",
    [
        {"data": b"more"},
        {"entry": "other"},
        {"launch": Launch((2, 1, 1))},
        {"scratch_bytes": 8},
        {"kind": "ptx"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_other_code_has_another_digest(change):
    code = Code("object", "entry", b"code", Launch((1, 1, 1)))
    assert digest_of_code(code) == digest_of_code(replace(code, knobs={"rows": 2}))
    assert digest_of_code(code) != digest_of_code(replace(code, **change))
