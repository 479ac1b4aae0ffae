"""One line for each cause of failure: equal for failures that one fix would end."""

from __future__ import annotations

import re
import signal

_LONGEST = 200

# Order matters: what is quoted or has a sigil goes before the numbers in it.
_PLACEHOLDERS = (
    (re.compile(r"compiling to [\w -]+ failed: "), ""),  # in which phase follows from the error
    (re.compile(r"(?<!\S)\S*:\d+:\d+: "), ""),  # a location
    (re.compile(r"\bfunction '[\w$.-]+'"), "function 'NAME'"),
    (re.compile(r"\b0x[0-9a-fA-F]+"), "ADDRESS"),
    (re.compile(r"(?:/[\w.+~-]+)+/([\w.+-]+\.(?:cpp|h|inc))"), r"\1"),  # a source file keeps its name
    (re.compile(r"(?:/[\w.+~-]+){2,}"), "PATH"),
    (re.compile(r"(?<![\w-])%(?!llvm\.)[\w$.#-]+"), "%VALUE"),  # LLVM's intrinsics keep their names
    (re.compile(r"(?<!\w)@[\w$.]+(?:::@[\w$.]+)*"), "@SYMBOL"),
    (re.compile(r"\b(tensor|vector|memref)<[^<>]*(?:<[^<>]*>[^<>]*)*>"), r"\1<TYPE>"),
    (re.compile(r"(?<![\w.])(?:\d+|\?)(?:x(?:\d+|\?))+"), "N"),  # a shape, before its element type
    (re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*[A-Za-z])"), "N"),
    (re.compile(r"\bN(?:(?:x|, ?)N)+\b"), "N"),
)

# Lines that name a crash, the best first.
_CRASHES = (
    re.compile(r"^.*?(LLVM ERROR: .+)$", re.MULTILINE),
    re.compile(r"^.*?(Assertion [`'].+failed.*)$", re.MULTILINE),
    re.compile(r"(UNREACHABLE executed.*)$", re.MULTILINE),
    re.compile(r"(the worker hit its memory limit)"),
    re.compile(r"(terminate called .+|\w+\(\): .+|\*\*\* .+ \*\*\*)"),  # of libstdc++ and the C library
    re.compile(r"(Running pass '[^'\n]+')"),  # the start of a long message may be missing
)
_FRAME = re.compile(r"^\s*#?\d+:?\s+(?:0x[0-9a-fA-F]+\s+)?(?:in )?([A-Za-z_~][\w:~<>]*)\(", re.MULTILINE)
_NOT_THE_CAUSE = re.compile(r"sys::|SignalHandler|PrintStackTrace|^__|^raise$|^abort$|^(?:kill|gsignal)$")
_EXIT = re.compile(r"exited with (-?\d+)")
_SIGNAL = re.compile(r"\bSIG[A-Z]{3,6}\b|Segmentation fault|Aborted|Illegal instruction")
_FRAMES = 3


def cause_of(outcome: str, message: str) -> str:
    """The line under which a failure is counted.

    Args:
        outcome: how the candidate ended (see `device.outcome`).
        message: what it ended with; for crashes, with all that the process printed.
    """
    if outcome.endswith("_timeout") and message.startswith("given up"):
        return "given up: it takes too long to compile"
    if outcome.endswith("_timeout"):
        return "no result within N s"
    if outcome.endswith("_crash"):
        return _crash(message)
    return _normalised(_first_line(message)) or outcome


def _crash(message: str) -> str:
    for pattern in _CRASHES:
        found = pattern.search(message)
        if found:
            return _normalised(found[1])
    frames = [name for name in _FRAME.findall(message) if not _NOT_THE_CAUSE.search(name)]
    if frames:
        return " < ".join(frames[:_FRAMES])[:_LONGEST]
    named = _SIGNAL.search(message)
    if named:
        return named[0]
    ended = _EXIT.search(message)
    return _exit(int(ended[1])) if ended else _normalised(_first_line(message)) or "no message"


def _exit(code: int) -> str:
    """How a process ended, as `subprocess` counts: negative for signals."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _first_line(message: str) -> str:
    return next((line.strip() for line in message.splitlines() if line.strip()), "")


def _normalised(line: str) -> str:
    for pattern, placeholder in _PLACEHOLDERS:
        line = pattern.sub(placeholder, line)
    return line[:_LONGEST]
