"""Results of kernels as tables and as JSON: alone, in the program, and by layer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from iree_tuner.cli.output import answers_to, comparison_to_json, knobs_text, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.kernels.in_program import TUNED, Contest, InProgram
from iree_tuner.kernels.layers import LayerError
from iree_tuner.kernels.source import Outlook, chosen_in
from iree_tuner.report.view import use_of
from iree_tuner.result import times_of
from iree_tuner.targets import Target

_COLUMNS = (
    "problem", "kernel", "tried", "default us", "tuned us", "kernel us", "speedup over default",
    "speedup over tuned", "wins",
)  # fmt: skip
_WRONG = 3  # variants with wrong numbers that are shown


def tell_use(program: str, output: Path, target: Target, spec: Path | None = None) -> None:
    """Print the commands that compile a program with kernels, and with the tuning spec if there is one."""
    people.print("to use it:" if spec is None else "to use both:", style="bold")
    for line in use_of(program, target.flags, spec, str(target), output).commands:
        people.print(f"  {line}", soft_wrap=True)


def tell_refusals(outlook: Outlook) -> None:
    """Print the problems that kernels do not support, and why."""
    for each in outlook.refusals:
        where = ", ".join(dict.fromkeys(each.functions))
        line = f"{each.kernel} does not support {each.problem} in {where}: {each.why}"
        people.print(line, style="dim")


def report_contests(contests: Sequence[Contest], as_json: bool) -> None:
    """Print the comparisons of single dispatches, and the wrong results."""
    held = table(*_COLUMNS, words=_COLUMNS[:1])
    for contest in contests:
        if as_json:
            print_json(contest_to_json(contest))
        over_default = contest.final.comparison
        best = f"{over_default.candidate_us:.1f}" if over_default else ""
        tuned = f"{contest.tuned.candidate_us:.1f}" if contest.tuned else ""
        default = f"{contest.kind.default_us:.1f}" if contest.kind else ""
        held.add_row(
            contest.site.problem.name, contest.kernel, str(len(contest.trials)), default, tuned, best,
            times_of(over_default), times_of(contest.over_tuned), "yes" if contest.wins else "no",
        )  # fmt: skip
        if contest.note:
            people.print(f"{contest.site.problem.name}, {contest.kernel}: {contest.note}", style="yellow")
        wrong = [each for each in contest.trials if each.outcome == "wrong_result"]
        for each in wrong[:_WRONG]:
            people.print(
                f"{contest.kernel} with {knobs_text(each.assignment)} computes wrong results: {each.message}",
                style="red",
            )
        if len(wrong) > _WRONG:
            people.print(f"{len(wrong) - _WRONG} other variants compute wrong results too", style="red")
    if contests:
        print_table(answers_to(as_json=as_json), held, spare=("default us", "tuned us", "kernel us", "wins"))
    for contest in contests:
        if contest.final.winner is not None:
            best = f"best variant of {contest.kernel}: {knobs_text(contest.knobs)}"
            people.print(f"{contest.site.problem.name}: {best}")


def report_program(compared: InProgram, as_json: bool) -> None:
    """Print the comparison of each version of the program with the baseline."""
    best = compared.best
    rows = [(version, "default", found) for version, found in compared.versions]
    if compared.over_tuned is not None and best is not None:
        rows.append((best, TUNED, compared.over_tuned))
    for version, against, found in rows:
        what, count = f"{version.what} against {against}", len(chosen_in(version.changes))
        if as_json:
            figures = comparison_to_json(found.comparison)
            note = {"note": found.agreement.note} if found.agreement.note else {}
            print_json({"program": what, "kernels": count, "error": found.error, **figures, **note})
        answers_to(as_json=as_json).print(f"the program, {what}: {found.error or times_of(found.comparison)}")
    for note in dict.fromkeys(each.agreement.note for _, _, each in rows if each.agreement.note):
        people.print(note, style="yellow")
    fastest = best.what if best else "the default"
    if best is not None and chosen_in(best.changes) and not compared.chosen:
        fastest = f"{TUNED} (kernels make no difference)"
    people.print(f"fastest version of the program: {fastest}")


def report_layers(layers: Sequence[LayerError], as_json: bool) -> None:
    """Print how much the results of each layer and of the program differ with kernels."""
    names = ("layer", "max difference", "of max value", "of tolerance", "cause")
    differences = table(*names, words=("layer", "cause"))
    for each in layers:
        if as_json:
            figures = {
                k: v if isinstance(v, str) or math.isfinite(v) else None for k, v in asdict(each).items()
            }
            print_json({"layer": figures.pop("name"), **figures})
        word = "order of summation" if each.explained else each.message
        word = word if each.largest or not each.explained else "no difference"
        if each.overflown:
            word += f"; {100 * each.overflown:.2g} % of the values overflow without kernels too"
        figures = f"{each.largest:.3g}", f"{each.relative:.2g}", f"{each.worst:.2g}"
        differences.add_row(each.name, *figures, word)
    print_table(answers_to(as_json=as_json), differences, spare=("of max value",))


def contest_to_json(contest: Contest) -> dict[str, object]:
    """Convert a contest to JSON-ready data: its times, and a count of outcomes."""
    return {
        "problem": contest.site.problem.name, "functions": list(contest.place.functions),
        "kernel": contest.kernel, "trials": len(contest.trials),
        "outcomes": Counter(each.outcome for each in contest.trials),
        "note": contest.note, "chosen": contest.wins,
        "knobs": dict(contest.knobs), "over_default": comparison_to_json(contest.final.comparison),
        "tuned": comparison_to_json(contest.tuned), "over_tuned": comparison_to_json(contest.over_tuned),
        "wrong": [{"knobs": dict(each.assignment), "message": each.message} for each in contest.trials
                  if each.outcome == "wrong_result"],
    }  # fmt: skip
