"""The compiler and the runtime are pinned to one release and checked as a pair."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from iree_tuner.errors import TunerError

RELEASE = "3.13.0"
PACKAGES = ("iree-base-compiler", "iree-base-runtime")


def installed() -> dict[str, str | None]:
    """Versions of the two packages; None for one that is not installed."""
    return {name: _version(name) for name in PACKAGES}


def other_release() -> str:
    """The other release that is installed, if both packages are of one; else empty."""
    found = set(installed().values())
    one, *more = found
    return one if one not in (None, RELEASE) and not more else ""


def check_release() -> None:
    """Raise TunerError unless both packages are installed in the tested release."""
    wrong = {name: found for name, found in installed().items() if found != RELEASE}
    if wrong:
        found = ", ".join(f"{name} is {have or 'not installed'}" for name, have in wrong.items())
        wanted = " ".join(f"{name}=={RELEASE}" for name in PACKAGES)
        raise TunerError(f"iree_tuner works with IREE {RELEASE}, but {found}", hint=f"pip install {wanted}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
