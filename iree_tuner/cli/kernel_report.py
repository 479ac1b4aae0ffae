"""What is said of kernels: how they did alone, in a program, and layer by layer; as tables and as JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from iree_tuner.cli.output import answers_to, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.execute.statistics import Comparison
from iree_tuner.kernels.bench import SEARCH_FLAG, SPEC_FLAG, TUNED, InProgram, Outlook
from iree_tuner.kernels.contest import Contest
from iree_tuner.kernels.kernel import Knobs
from iree_tuner.kernels.layers import Layer
from iree_tuner.targets import Target
from iree_tuner.tuned import times_of

_COLUMNS = (
    "problem", "kernel", "tried", "default us", "tuned us", "kernel us", "over default", "over tuned",
    "wins alone",
)  # fmt: skip
_WRONG = 3  # variants with wrong numbers that are shown


def told(knobs: Knobs) -> str:
    """Knobs for people."""
    return " ".join(f"{name}={value}" for name, value in knobs.items())


def tell_use(program: str, output: Path, target: Target, spec: Path | None = None) -> None:
    """Print how a program is compiled with kernels, and with a tuning spec, if they belong together."""
    people.print("use it, one way or another:" if spec is None else "use both:")
    tuned = "" if spec is None else f" --spec {spec}"
    lines = [f"iree-tuner compile {program}{tuned} --kernels {output} --target {target} -o kernels.vmfb"]
    if spec is None:  # the same flags for the target, as executables are matched by them
        flags = (*target.flags, f"{SPEC_FLAG}={output}", f"{SEARCH_FLAG}={output.parent}")
        lines.append(f"iree-compile {program} {' '.join(flags)} -o kernels.vmfb")
    for line in lines:
        people.print(f"  {line}", soft_wrap=True, markup=False)


def tell_refusals(outlook: Outlook) -> None:
    """Print which problems kernels do not compute, and why."""
    for each in outlook.refusals:
        where = ", ".join(dict.fromkeys(each.functions))
        people.print(f"{each.problem} in {where}: not {each.kernel}: {each.why}", style="dim", markup=False)


def report_contests(contests: Sequence[Contest], outlook: Outlook, as_json: bool) -> None:
    """Print how kernels did alone, and what is wrong of them."""
    held = table(*_COLUMNS, words=_COLUMNS[:1])
    for contest, (place, _, _) in zip(contests, outlook.pairs, strict=True):
        if as_json:
            print_json(contest_to_json(contest, place.functions))
        best = f"{contest.over_default.candidate_us:.1f}" if contest.over_default else ""
        tuned = f"{contest.tuned.candidate_us:.1f}" if contest.tuned else ""
        held.add_row(
            contest.site.problem.name,
            contest.kernel,
            str(len(contest.trials)),
            f"{contest.default_us:.1f}" if math.isfinite(contest.default_us) else "",
            tuned,
            best,
            times_of(contest.over_default),
            times_of(contest.over_tuned),
            "yes" if contest.wins else "no",
        )
        if contest.note:
            people.print(
                f"{contest.site.problem.name}, {contest.kernel}: {contest.note}", style="yellow", markup=False
            )
        wrong = [each for each in contest.trials if each.outcome == "wrong_result"]
        for each in wrong[:_WRONG]:
            people.print(
                f"{contest.kernel} is wrong with {told(each.assignment)}: {each.message}",
                style="red",
                markup=False,
            )
        if len(wrong) > _WRONG:
            people.print(f"and with {len(wrong) - _WRONG} other variants", style="red")
    if contests:
        print_table(
            answers_to(as_json=as_json), held, spare=("default us", "tuned us", "kernel us", "wins alone")
        )
    for contest in contests:
        if contest.best is not None:
            people.print(
                f"{contest.site.problem.name}: {contest.kernel} {told(contest.best.knobs)}", markup=False
            )


def report_program(compared: InProgram, as_json: bool) -> None:
    """Print each version of a program against its default."""
    rows = [(f"{each.what} against default", len(each.chosen), each.found) for each in compared.versions]
    if compared.over_tuned is not None and compared.best is not None:
        rows.append((f"{compared.best.what} against tuned", len(compared.best.chosen), compared.over_tuned))
    for what, count, found in rows:
        if as_json:
            figures = comparison_to_json(found.comparison)
            note = {"note": found.agreement.note} if found.agreement.note else {}
            print_json({"program": what, "kernels": count, "error": found.error, **figures, **note})
        answers_to(as_json=as_json).print(
            f"the program, {what}: {found.error or times_of(found.comparison)}", markup=False
        )
    for note in dict.fromkeys(each.agreement.note for _, _, each in rows if each.agreement.note):
        people.print(note, style="yellow", markup=False)
    best = compared.best.what if compared.best else "the default"
    if compared.best is not None and compared.best.chosen and not compared.chosen:
        best = f"{TUNED}, as kernels make no difference to it"
    people.print(f"the program is fastest: {best}", markup=False)


def report_layers(layers: Sequence[Layer], as_json: bool) -> None:
    """Print how the results of layers and of the program differ with kernels."""
    names = ("layer", "largest difference", "of the largest value", "of the tolerance", "")
    differences = table(*names, words=("layer", ""))
    for each in layers:
        if as_json:
            figures = {
                k: v if isinstance(v, str) or math.isfinite(v) else None for k, v in asdict(each).items()
            }
            print_json({"layer": figures.pop("name"), **figures})
        word = "the order of sums explains it" if each.explained else each.message
        word = word if each.largest or not each.explained else "no difference"
        if each.overflown:
            word += f"; {100 * each.overflown:.2g} % of the values overflow without kernels, too"
        figures = f"{each.largest:.3g}", f"{each.relative:.2g}", f"{each.worst:.2g}"
        differences.add_row(each.name, *figures, word)
    print_table(answers_to(as_json=as_json), differences, spare=("of the largest value",))


def comparison_to_json(found: Comparison | None) -> dict[str, object]:
    """A comparison's figures; empty where there is none."""
    if found is None:
        return {}
    return {
        "speedup": found.speedup, "interval": list(found.interval), "verdict": found.verdict,
        "default_us": found.default_us, "time_us": found.candidate_us, "pairs": found.pairs,
    }  # fmt: skip


def contest_to_json(contest: Contest, functions: Sequence[str]) -> dict[str, object]:
    """A contest as JSON: the figures, and how many variants ended how."""
    return {
        "problem": contest.site.problem.name, "functions": list(functions), "kernel": contest.kernel,
        "trials": len(contest.trials), "outcomes": Counter(each.outcome for each in contest.trials),
        "note": contest.note, "chosen": contest.wins,
        "knobs": dict(contest.best.knobs) if contest.best else {},
        "over_default": comparison_to_json(contest.over_default),
        "tuned": comparison_to_json(contest.tuned), "over_tuned": comparison_to_json(contest.over_tuned),
        "wrong": [{"knobs": dict(each.assignment), "message": each.message} for each in contest.trials
                  if each.outcome == "wrong_result"],
    }  # fmt: skip
