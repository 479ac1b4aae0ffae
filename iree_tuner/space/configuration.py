"""The attributes that are put on the ops of a dispatch: a choice in the compiler's terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from iree.compiler import ir

from iree_tuner.compiler.unbound import attribute_from


@dataclass(frozen=True)
class Assignment(Mapping[str, int]):
    """A value for each knob. Hashable; equal whatever the order the values were given in."""

    items_: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, values: Mapping[str, int]) -> Assignment:
        return cls(tuple(sorted((name, int(value)) for name, value in values.items())))

    def __getitem__(self, name: str) -> int:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.items_)

    def __len__(self) -> int:
        return len(self.items_)

    @cached_property
    def _values(self) -> dict[str, int]:
        return dict(self.items_)


@dataclass(frozen=True)
class OpConfiguration:
    """One attribute for the op `label` of a workload, as text for other processes, databases and specs.

    It is `compilation_info` on the `root`, `lowering_config` on a companion. `of` and `to_ir` alone write and
    read the text.
    """

    label: str
    attribute: str
    value: str

    @staticmethod
    def of(label: str, attribute: str, value: ir.Attribute) -> OpConfiguration:
        return OpConfiguration(label, attribute, str(value))

    def to_ir(self) -> ir.Attribute:
        """The attribute, in the current context. Raises MLIRError if it does not parse."""
        return attribute_from(self.value)


@dataclass(frozen=True)
class Configuration:
    """Everything that one candidate sets."""

    ops: tuple[OpConfiguration, ...]

    @staticmethod
    def of(info: ir.Attribute, companions: Mapping[str, ir.Attribute]) -> Configuration:
        """The root's compilation info, and the companions' lowering configs by label."""
        others = (OpConfiguration.of(label, "lowering_config", each) for label, each in companions.items())
        return Configuration((OpConfiguration.of("root", "compilation_info", info), *others))
