"""The findings of verification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from iree_tuner.spec.problem import SpecProblem

Severity = Literal["error", "warning", "unchecked"]


@dataclass(frozen=True)
class ConfigurationFinding:
    """Something to say of a configuration.

    Attributes:
        severity: `error` where the compiler refuses the configuration or makes wrong code of it, `warning`
            where it takes it although a constraint is broken, `unchecked` where nothing is known of it.
        message: what is wrong, in words and values.
        rule: the constraint without values, equal for equal constraints, empty if nothing is checked.
    """

    severity: Severity
    message: str
    rule: str = ""


@dataclass(frozen=True)
class Verified:
    """A configuration, and what is wrong with it.

    Attributes:
        op: the op that carries it, or that a matcher of a spec is for.
        location: where it stands: `file:line:column`.
        lowering: the lowering config.
        translation: the translation info.
        findings: what is wrong; empty for a legal configuration.
        dispatch: the dispatch that the op is in; empty where it is in none.
        workload: what the dispatch computes.
        space: whose constraints it was judged by: `TileAndFuse`, `TileAndFuse:igemm`.
        matcher: of a spec, the matcher that sets it.
    """

    op: str
    location: str
    lowering: str
    translation: str
    findings: tuple[ConfigurationFinding, ...] = ()
    dispatch: str = ""
    workload: str = ""
    space: str = ""
    matcher: str = ""

    @property
    def state(self) -> Literal["legal", "warning", "error", "unchecked"]:
        """The worst finding; `legal` without any."""
        found = {each.severity for each in self.findings}
        for severity in ("unchecked", "error", "warning"):
            if severity in found:
                return severity
        return "legal"

    @property
    def subject(self) -> str:
        """The beginning of messages, as the compiler's own: `'linalg.matmul' op`, or `@matcher`."""
        return f"@{self.matcher}" if self.matcher else f"'{self.op}' op"

    def diagnostics(self) -> Iterator[str]:
        """The findings in the compiler's own form: `file:line:column: error: 'linalg.matmul' op ...`."""
        for each in self.findings:
            severity, message = each.severity, each.message
            if severity == "unchecked":
                severity, message = "remark", f"not checked: {message}"
            yield f"{self.location}: {severity}: {self.subject} {message}"


@dataclass(frozen=True)
class VerifyReport:
    """All configurations of a program or a spec, in their order."""

    configurations: tuple[Verified, ...]

    @property
    def legal(self) -> bool:
        """Whether no configuration has an error."""
        return not self.count("error")

    def problems(self) -> list[SpecProblem]:
        """The errors as problems of a spec."""
        return [
            SpecProblem("illegal", f"in dispatch {each.dispatch}, {found.message}", each.matcher)
            for each in self.configurations
            for found in each.findings
            if found.severity == "error"
        ]

    def count(self, state: str) -> int:
        """How many configurations are `legal`, have an `error` or a `warning`, or are `unchecked`."""
        return sum(each.state == state for each in self.configurations)
