"""`iree-tuner verify`: configurations judged by constraints, before anything is compiled with them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.extract import chosen_target
from iree_tuner.cli.hits import with_own_flags
from iree_tuner.cli.inputs import opened
from iree_tuner.cli.output import answers, people, print_json
from iree_tuner.cli.program_name import no_option
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import UsageError
from iree_tuner.program.carried import carrying
from iree_tuner.program.source import Program, read_program
from iree_tuner.spec.grammar import ENTRYPOINT, ENTRYPOINT_NAME, entry_sequence
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import Target, parse_target, target_for_device
from iree_tuner.targets.registry import DEFAULT_DEVICE
from iree_tuner.tuning.compiler_flags import CompilerFlags
from iree_tuner.verify.finding import Report, Verified
from iree_tuner.verify.program import verify_carried
from iree_tuner.verify.spec import verify_spec

Source = Annotated[
    str,
    Parameter(
        allow_leading_hyphen=True,
        validator=no_option,
        help="A program whose ops have compilation_info, or lowering_config as at executable-configurations; "
        "or a tuning spec. `-` reads standard input.",
    ),
]
_NO_FLAGS = CompilerFlags()
_STATES = (("error", "with errors"), ("warning", "with warnings"), ("unchecked", "not checked"))


def verify(
    source: Source,
    /,
    *,
    target: str | None = None,
    device: str = DEFAULT_DEVICE,
    program: Path | None = None,
    dim: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    strict: Annotated[bool, Parameter(negative="")] = False,
    diagnostics: Annotated[bool, Parameter(negative="")] = False,
    compiling: CompilerFlags = _NO_FLAGS,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Judge the lowering configs of a program or a spec by constraints, without compiling them.

    An error is what the compiler refuses or makes wrong code of. A warning is a constraint that it does not
    check. Exit status 1 when there is an error.

    Example: `iree-tuner verify model.mlir --target hip:gfx942`

    Parameters
    ----------
    target
        `llvm-cpu:znver4`, `cuda:sm_80`, `hip:gfx942`, `vulkan:ampere`.
    device
        Take the target of this device instead. Without any, what the compiler has dumped is for what it was
        dumped for.
    program
        Judge a spec on the dispatches of this program that its matchers hit. Without, ops are made of what
        the matchers say.
    dim
        A size that stands for dynamic dimensions of the inputs: 128 for all, 0.1=128 for dimension 1 of input
        0. May be given several times.
    strict
        Exit status 1 for warnings and for what is not checked, too.
    diagnostics
        Print each finding as the compiler prints errors: `file:line:column: error: ...`.
    as_json
        One JSON object a finding on standard output.
    """
    if as_json and diagnostics:
        raise UsageError("give --json or --diagnostics, not both")
    given = read_program(source)
    if _is_spec(given):
        if dim:
            raise UsageError("--dim is of programs, and this is a spec")
        chosen = parse_target(target) if target else target_for_device(device)
        report = _of_spec(given, compiling.on(chosen), program)
    else:
        if program is not None:
            raise UsageError("--program is of specs, and this is a program")
        lifted, carried = carrying(given)
        report = verify_carried(lifted, carried, compiling.on(chosen_target(lifted, target, device)), dim)
    _show(report, given.name, diagnostics=diagnostics, as_json=as_json)
    return 0 if report.legal and not (strict and _is_doubtful(report)) else 1


def _of_spec(given: Program, target: Target, program: Path | None) -> Report:
    """A spec is judged with the flags that it was made with."""
    spec = load_spec(given.data, new_context(), name=given.name)
    where = opened(program) if program is not None else None
    return verify_spec(spec, with_own_flags(target, spec), name=given.name, program=where)


def _is_spec(given: Program) -> bool:
    if ENTRYPOINT.encode() not in given.data and ENTRYPOINT_NAME.encode() not in given.data:
        return False
    return entry_sequence(parse_module(given.data, new_context(), given.name)) is not None


def _is_doubtful(report: Report) -> bool:
    return bool(report.count("warning") or report.count("unchecked"))


def _show(report: Report, name: str, *, diagnostics: bool, as_json: bool) -> None:
    for each in report.configurations:
        if as_json:
            for record in findings_to_json(each):
                print_json(record)
        else:
            lines = each.diagnostics() if diagnostics else _lines(each)
            for line in lines:
                answers.print(line, soft_wrap=True, markup=False)
    people.print(f"{name}: {_summary(report)}", soft_wrap=True, markup=False)


def findings_to_json(verified: Verified) -> list[dict[str, object]]:
    """One JSON-ready record a finding."""
    return [
        {
            "severity": each.severity,
            "message": each.message,
            "rule": each.rule,
            "location": verified.location,
            "op": verified.op,
            "matcher": verified.matcher or None,
            "dispatch": verified.dispatch or None,
            "workload": verified.workload or None,
            "space": verified.space or None,
            "lowering_config": verified.lowering,
            "translation_info": verified.translation,
        }
        for each in verified.findings
    ]


def _lines(verified: Verified) -> list[str]:
    what = f"@{verified.matcher}" if verified.matcher else verified.op
    parts = [part for part in (verified.workload, verified.space) if part]
    where = f" ({', '.join(parts)})" if parts else ""
    counts = Counter(each.severity for each in verified.findings)
    said = ", ".join(
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity, count in counts.items()
        if severity != "unchecked"
    )
    state = "not checked" if verified.state == "unchecked" else said or "legal"
    lines = [f"{verified.location}: {what}{where}: {state}"]
    for each in verified.findings:
        lines.append(f"  {'' if each.severity == 'unchecked' else each.severity + ': '}{each.message}")
    return lines


def _summary(report: Report) -> str:
    count = len(report.configurations)
    if not count:
        return "no op carries a configuration"
    parts = [f"{report.count('legal')} legal"]
    parts += [f"{report.count(state)} {words}" for state, words in _STATES if report.count(state)]
    return f"{count} configuration{'' if count == 1 else 's'}: {', '.join(parts)}"
