"""What `scripts/search_curves.py` makes of its results: tables, and plots that can be opened."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parents[4] / "scripts"))

import search_report


def medians(to_2, to_10=4, share=0.9):
    return {"evaluations_to_2_percent": to_2, "evaluations_to_10_percent": to_10, "share_after_16": share}


def row(name, target, shuffle, local):
    strategies = {"shuffle": medians(shuffle), "local": medians(local)}
    return {
        "recording": name, "workload": name, "target": target, "machine": "a machine", "members": 300,
        "trained_on": 3, "default_share": 0.7, "strategies": strategies,
    }  # fmt: skip


def curve(target, strategy):
    points = {"after": [1, 4, 16], "median": [0.5, 0.8, 0.9], "low": [0.4, 0.7, 0.8], "high": [0.6, 0.9, 1.0]}
    return {"target": target, "strategy": strategy, "recordings": 2} | points


RESULTS = {
    "seeds": {"shuffle": 5, "local": 3}, "budget": 256, "batch": 8, "default": "local",
    "strategies": ["shuffle", "local"],
    "recordings": [
        row("matmul_4096x64x256_f32_f32_f32", "cpu", 100, 5),
        row("softmax_768x1024_f32_f32_f32", "cpu", 120, None),
        row("matmul_2048x2048x2048_f16_f16_f32", "gpu", None, 12.5),
    ],
    "curves": [curve(target, name) for target in ("cpu", "gpu") for name in ("shuffle", "local")],
}  # fmt: skip


def test_the_tables():
    text = search_report.details(RESULTS)
    assert "| matmul_4096x64x256 f32 | 300 | 100 | 5 | 20.0 |" in text
    assert "| softmax_768x1024 f32 | 300 | 120 | - | < 0.5 |" in text
    assert "| matmul_2048x2048x2048 f16 f32 | 300 | - | 12.5 | > 20.5 |" in text
    assert "| **median** |  | 110 | - | - |" in text
    text += search_report.tables(RESULTS)
    assert "| target | recordings | shuffle | **local** | ratio |" in text
    assert "| CPU: a machine | 2 | 110 | - | - |" in text
    assert "| GPU: a machine | 1 | - | 12.5 | - |" in text
    assert "| **local** | 3 | 12.5 | 4 | 90.0% | 3 of 3 | 9.6 | 0.5 |" in text
    for block in text.split("\n\n"):
        cells = {line.count("|") for line in block.strip().splitlines() if line.startswith("|")}
        assert len(cells) <= 1, "all lines of a table have the same cells"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matmul_1x2x3_f32_f32_f32", "matmul_1x2x3 f32"),
        ("h200_matmul_128x4096x4096_f16_f32", "h200_matmul_128x4096x4096 f16 f32"),
        ("matmul_1x2x3_i8_i8_i32.znver4", "matmul_1x2x3 i8 i32 (znver4)"),
        ("matmul_1x2x3_bf16_bf16_f32", "matmul_1x2x3 bf16 f32"),
        ("anything", "anything"),
        ("a|b", "a/b"),
    ],
)
def test_names_are_short(name, expected):
    assert search_report.short(name) == expected


def test_what_stands_between_the_markers_is_replaced(tmp_path):
    document = tmp_path / "search.md"
    document.write_text(f"before\n{search_report.BEGIN}\nold\n{search_report.END}\nafter\n")
    search_report.write_tables(RESULTS, document)
    first = document.read_text()
    assert first.startswith(f"before\n{search_report.BEGIN}\n")
    assert first.endswith(f"{search_report.END}\nafter\n")
    assert "old" not in first
    search_report.write_tables(RESULTS, document)
    assert document.read_text() == first
    document.write_text("no markers")
    with pytest.raises(SystemExit, match="table:begin"):
        search_report.write_tables(RESULTS, document)


def test_the_documents_have_their_markers():
    text = (Path(__file__).parents[4] / "benchmarks" / "README.md").read_text()
    assert text.index(search_report.BEGIN) < text.index(search_report.END)


def test_the_plots(tmp_path):
    for package in ("altair", "vl_convert"):
        pytest.importorskip(package, reason=f"{package} is not installed (extra `report`)")
    search_report.draw(RESULTS, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        f"{name}-{mode}.svg" for name in ("cpu", "gpu", "evaluations") for mode in ("light", "dark")
    }
    for path in tmp_path.iterdir():
        root = ElementTree.parse(path).getroot()
        assert root.tag.endswith("svg")
        words = {text.strip() for text in root.itertext() if text.strip()}
        assert {"shuffle", "local"} <= words
    words = set(ElementTree.parse(tmp_path / "cpu-light.svg").getroot().itertext())
    assert "share of the best" in words
    assert "evaluations" in words
