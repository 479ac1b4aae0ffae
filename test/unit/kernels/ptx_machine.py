"""The few instructions of PTX that the plain example has, one thread after the other, on numpy's arrays.

Threads run until they meet: at a barrier all of a workgroup, at `mma` all of a warp. What is stored where is
counted, so that tests can say that every place is written once. Nothing here knows the kernel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

WARP = 32
_BASE = 1 << 32  # of global memory: it is no offset in shared memory
_TOKEN = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+")


@dataclass
class Workgroup:
    """A workgroup that runs.

    Attributes:
        stored: how often each byte of global memory was stored to.
        shared_stores: for each time between barriers, how often each byte of shared memory was.
        unset_reads: bytes of shared memory that were read and never written.
    """

    memory: np.ndarray
    stored: Counter[int] = field(default_factory=Counter)
    shared_stores: list[Counter[int]] = field(default_factory=lambda: [Counter()])
    unset_reads: int = 0


def parse(text: str) -> tuple[list[list[str]], dict[str, int], dict[str, int], list[str], int]:
    """Instructions as words, labels, shared arrays' offsets, parameters and shared memory's size."""
    text = re.sub(r"//.*", "", text)
    parameters = re.findall(r"\.param \.u64 (\w+)", text)
    body = text[text.index("{") + 1 : text.rindex("}")]
    shared: dict[str, int] = {}
    size = 0
    for name, length in re.findall(r"\.shared \.align 16 \.b8 (\w+)\[(\d+)\]", body):
        shared[name] = size
        size += -(-int(length) // 16) * 16
    code: list[list[str]] = []
    labels: dict[str, int] = {}
    for statement in body.split(";"):
        *found, rest = re.split(r"(\w+):(?=\s)", statement)
        labels |= dict.fromkeys(found[1::2], len(code))
        words = _TOKEN.findall(rest)
        if words and not words[0].startswith((".shared", ".reg")):
            code.append(words)
    return code, labels, shared, parameters, size


class Machine:
    """Runs the one kernel of a module.

    Args:
        text: the module.
        threads: of a workgroup.
        arrays: one for each parameter; they are copied.
    """

    def __init__(self, text: str, threads: int, arrays: list[np.ndarray]) -> None:
        self.code, self.labels, self.shared, parameters, self.size = parse(text)
        self.threads = threads
        flat = [np.frombuffer(each.tobytes(), np.uint8) for each in arrays]
        starts = np.cumsum([0, *(len(each) for each in flat)])
        self.memory = np.concatenate(flat)
        self.parameters = {name: _BASE + int(at) for name, at in zip(parameters, starts, strict=False)}

    def run(self, x: int, y: int) -> Workgroup:
        """Run the workgroup at a place."""
        group = Workgroup(self.memory)
        self.local, self.written = np.zeros(self.size, np.uint8), np.zeros(self.size, bool)
        state = [{"%tid.x": t, "%ctaid.x": x, "%ctaid.y": y, **self.shared} for t in range(self.threads)]
        threads = [self._thread(each, group) for each in state]
        waiting: dict[int, list[str] | None] = {}
        while len(waiting) < self.threads or any(waiting.values()):
            for number, thread in enumerate(threads):
                if number not in waiting:
                    waiting[number] = next(thread, None)
            for first in range(0, self.threads, WARP):
                met = [waiting[number] for number in range(first, first + WARP)]
                if met[0] and met[0][0].startswith("mma"):
                    assert all(each is met[0] for each in met), "a warp is not together"
                    multiply(met[0], state[first : first + WARP])
                    for number in range(first, first + WARP):
                        del waiting[number]
            if len(waiting) == self.threads and any(waiting.values()):
                assert all(each and each[0] == "bar.sync" for each in waiting.values())
                group.shared_stores.append(Counter())
                waiting.clear()
        return group

    def _thread(self, values: dict[str, object], group: Workgroup) -> Iterator[list[str]]:
        at = 0
        while self.code[at] != ["ret"]:
            words = self.code[at]
            at += 1
            if words[0].startswith("@"):
                if bool(values[words[0].lstrip("@!")]) == words[0].startswith("@!"):
                    continue
                words = words[1:]
            if words[0] == "bra":
                at = self.labels[words[1]]
            elif words[0].startswith(("bar", "mma")):
                yield words
            else:
                self._step(words, values, group)

    def _step(self, words: list[str], values: dict[str, object], group: Workgroup) -> None:
        name, *operands = words
        kind, _, suffix = name.partition(".")
        if kind in ("ld", "st"):
            self._access(name, operands, values, group)
            return
        target, *sources = operands
        given = [self._value(each, values) for each in sources]
        if kind in ("mov", "cvta"):
            values[target] = given[0] | given[1] << 16 if len(given) == 2 else given[0]
        elif kind == "cvt":
            low, high = (int(np.float16(each).view(np.uint16)) for each in given[::-1])
            values[target] = low | high << 16
        elif kind == "setp":
            values[target] = {
                "lt": given[0] < given[1],
                "ge": given[0] >= given[1],
                "eq": given[0] == given[1],
            }[suffix.split(".")[0]]
        else:
            values[target] = {
                "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": lambda a, b: a // b,
                "rem": lambda a, b: a % b, "and": lambda a, b: a & b, "shr": lambda a, b: a >> b,
                "mad": lambda a, b, c: a * b + c,
            }[kind](*given)  # fmt: skip
            assert values[target] < (1 << 64 if "64" in suffix or "wide" in suffix else 1 << 32)

    def _access(self, name: str, operands: list[str], values: dict[str, object], group: Workgroup) -> None:
        place = next(each for each in operands if each.startswith("["))
        (registers,) = (each for each in operands if each is not place)
        names = [each.strip() for each in registers.strip("{}").split(",")]
        if ".param" in name:
            values[names[0]] = self.parameters[place.strip("[]")]
            return
        start = self._value(place.strip("[]"), values)
        width = int(re.search(r"\d+$", name)[0]) // 8
        assert start % (width * len(names)) == 0, f"{name} at {start} is not aligned"
        local = ".shared" in name
        memory, base = (self.local, 0) if local else (self.memory, _BASE)
        for number, register in enumerate(names):
            at = start - base + number * width
            assert 0 <= at <= len(memory) - width, f"{name} at {at} is outside"
            if name.startswith("st"):
                value = values[register]
                bits = int(np.float32(value).view(np.uint32)) if "f32" in name else value
                memory[at : at + width] = np.frombuffer(int(bits).to_bytes(width, "little"), np.uint8)
                (group.shared_stores[-1] if local else group.stored).update(range(at, at + width))
                if local:
                    self.written[at : at + width] = True
            else:
                group.unset_reads += int((~self.written[at : at + width]).sum()) if local else 0
                values[register] = int.from_bytes(memory[at : at + width].tobytes(), "little")

    def _value(self, text: str, values: dict[str, object]) -> int | float:
        """A register, a constant expression, or a sum of both; a pair in braces is split by the caller."""
        if text.startswith("0f"):
            return float(np.array(int(text[2:], 16), np.uint32).view(np.float32))
        if text.startswith("{"):
            low, high = (values[each.strip()] for each in text.strip("{}").split(","))
            return low | high << 16
        found = re.sub(r"%?[A-Za-z_][\w.]*", lambda each: str(values[each[0]]), text)
        return values[text] if text in values else int(eval(found.replace("/", "//"), {"__builtins__": {}}))


def multiply(words: list[str], warp: list[dict[str, object]]) -> None:
    """mma.sync.m16n8k16 of f16 with f32 sums, by the fragments that the PTX ISA gives each thread."""
    assert words[0] == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    out, left, right, sums = ([name.strip() for name in each.strip("{}").split(",")] for each in words[1:])
    a, b, c = np.zeros((16, 16)), np.zeros((16, 8)), np.zeros((16, 8))
    for lane, values in enumerate(warp):
        group, number = lane >> 2, lane % 4
        for i in range(8):
            row = group if i < 2 or 4 <= i < 6 else group + 8
            a[row, number * 2 + (i & 1) + (8 if i >= 4 else 0)] = _half(values[left[i // 2]], i & 1)
        for i in range(4):
            b[number * 2 + (i & 1) + (8 if i >= 2 else 0), group] = _half(values[right[i // 2]], i & 1)
        for i in range(4):
            c[group + (8 if i >= 2 else 0), number * 2 + (i & 1)] = values[sums[i]]
    c = (a @ b + c).astype(np.float32)
    for lane, values in enumerate(warp):
        group, number = lane >> 2, lane % 4
        for i in range(4):
            values[out[i]] = float(c[group + (8 if i >= 2 else 0), number * 2 + (i & 1)])


def _half(word: int, upper: int) -> float:
    return float(np.array(word >> 16 * upper & 0xFFFF, np.uint16).view(np.float16))
