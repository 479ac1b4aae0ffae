import json
import subprocess
from pathlib import Path

PROGRAM = Path(__file__).with_name("product.mlir")


def test_results_are_correct():
    bench = ["iree-tuner", "kernel", "bench", str(PROGRAM), "--kernel", "plain_gemm_f32"]
    done = subprocess.run([*bench, "--alone", "--no-db", "--json"], stdout=subprocess.PIPE, check=True)
    (row,) = map(json.loads, done.stdout.splitlines())
    assert row["outcomes"].get("ok")
    assert set(row["outcomes"]) <= {"ok", "too_slow"}
    assert row["wrong"] == []
