"""`iree-tuner verify`: check lowering configs against constraints, without compiling."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.extract import chosen_target
from iree_tuner.cli.inputs import NO_FLAGS, Dimensions, no_option, opened
from iree_tuner.cli.output import Json, answers, people, print_json
from iree_tuner.cli.spec import with_own_flags
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import UsageError
from iree_tuner.program.carried import carrying
from iree_tuner.program.source import Program, read_program
from iree_tuner.space.verify.constraints import Verified, VerifyReport, verify_carried
from iree_tuner.space.verify.spec import verify_spec
from iree_tuner.spec.grammar import ENTRYPOINT, ENTRYPOINT_NAME, entry_sequence
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import parse_target, target_for_device
from iree_tuner.targets.registry import DEFAULT_DEVICE
from iree_tuner.tuning.options import CompilerFlags

Source = Annotated[
    str,
    Parameter(
        allow_leading_hyphen=True,
        validator=no_option,
        help="A tuning spec, or a program whose ops have compilation_info, or a program compiled to "
        "executable-configurations. `-` reads standard input.",
    ),
]
_STATES = (("error", "with errors"), ("warning", "with warnings"), ("unchecked", "not checked"))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class VerifyFlags:
    """How configurations are checked.

    Attributes
    ----------
    target
        Target: `llvm-cpu:znver4`, `cuda:sm_80`, `hip:gfx942`, `vulkan:ampere`.
    device
        Use the target of this device instead. A file that the compiler dumped names its own target, which is
        the default for it.
    program
        Check a spec on the dispatches of this program that its matchers hit. Default: check it on ops
        generated from the matchers.
    strict
        Exit status 1 also for warnings and for configurations that cannot be checked.
    diagnostics
        Print findings in the compiler's format: `file:line:column: error: ...`.
    """

    target: str | None = None
    device: str = DEFAULT_DEVICE
    program: Path | None = None
    dim: Dimensions = ()
    strict: Annotated[bool, Parameter(negative="")] = False
    diagnostics: Annotated[bool, Parameter(negative="")] = False


CHECKS = VerifyFlags()


def verify(
    source: Source,
    /,
    *,
    checks: VerifyFlags = CHECKS,
    compiling: CompilerFlags = NO_FLAGS,
    as_json: Json = False,
) -> int:
    """Check the lowering configs in a program or a spec against constraints, without compiling.

    An error means that the compiler rejects the configuration or generates wrong code. A warning means that
    the configuration violates a constraint that the compiler does not check. Exit status 1 if there is an
    error.

    Example: `iree-tuner verify model.mlir --target hip:gfx942`

    Parameters
    ----------
    as_json
        Print JSON, one object per finding.
    """
    target, device, dim = checks.target, checks.device, checks.dim
    if as_json and checks.diagnostics:
        raise UsageError("give --json or --diagnostics, not both")
    given = read_program(source)
    if _is_spec(given):
        if dim:
            raise UsageError("--dim requires a program, but the input is a spec")
        chosen = parse_target(target) if target else target_for_device(device)
        spec = load_spec(given.data, new_context(), name=given.name)
        chosen = with_own_flags(compiling.on(chosen), spec)
        where = opened(checks.program) if checks.program is not None else None
        report = verify_spec(spec, chosen, name=given.name, program=where)
    else:
        if checks.program is not None:
            raise UsageError("--program requires a spec, but the input is a program")
        lifted, carried = carrying(given)
        report = verify_carried(lifted, carried, compiling.on(chosen_target(lifted, target, device)), dim)
    _show(report, given.name, diagnostics=checks.diagnostics, as_json=as_json)
    doubtful = report.count("warning") or report.count("unchecked")
    return 0 if report.legal and not (checks.strict and doubtful) else 1


def _is_spec(given: Program) -> bool:
    if ENTRYPOINT.encode() not in given.data and ENTRYPOINT_NAME.encode() not in given.data:
        return False
    return entry_sequence(parse_module(given.data, new_context(), given.name)) is not None


def _show(report: VerifyReport, name: str, *, diagnostics: bool, as_json: bool) -> None:
    for each in report.configurations:
        if as_json:
            for finding in each.findings:
                print_json({
                    "severity": finding.severity, "message": finding.message, "rule": finding.rule,
                    "location": each.location, "op": each.op, "matcher": each.matcher or None,
                    "dispatch": each.dispatch or None, "workload": each.workload or None,
                    "space": each.space or None, "lowering_config": each.lowering,
                    "translation_info": each.translation,
                })  # fmt: skip
        else:
            lines = each.diagnostics() if diagnostics else _lines(each)
            for line in lines:
                answers.print(line, soft_wrap=True)
    people.print(f"{name}: {_summary(report)}", soft_wrap=True)


def _lines(verified: Verified) -> list[str]:
    what = f"@{verified.matcher}" if verified.matcher else verified.op
    parts = [part for part in (verified.workload, verified.space) if part]
    where = f" ({', '.join(parts)})" if parts else ""
    counts = Counter(each.severity for each in verified.findings)
    told = [f"{n} {severity}{'s' * (n != 1)}" for severity, n in counts.items() if severity != "unchecked"]
    said = ", ".join(told)
    state = "not checked" if verified.state == "unchecked" else said or "legal"
    lines = [f"{verified.location}: {what}{where}: {state}"]
    for each in verified.findings:
        lines.append(f"  {'' if each.severity == 'unchecked' else each.severity + ': '}{each.message}")
    return lines


def _summary(report: VerifyReport) -> str:
    count = len(report.configurations)
    if not count:
        return "no op has a configuration"
    parts = [f"{report.count('legal')} legal"]
    parts += [f"{report.count(state)} {words}" for state, words in _STATES if report.count(state)]
    return f"{count} configuration{'' if count == 1 else 's'}: {', '.join(parts)}"
