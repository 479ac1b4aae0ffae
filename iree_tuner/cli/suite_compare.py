"""`iree-tuner suite compare`: compare operations on IREE and on other libraries, in interleaved rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.cluster import warn_if_open
from iree_tuner.cli.database import default_database
from iree_tuner.cli.output import people
from iree_tuner.cli.suite_outputs import SuiteOutputs
from iree_tuner.cli.suite_run import carry_out
from iree_tuner.errors import UsageError
from iree_tuner.suite.backends.backend import Backend
from iree_tuner.suite.backends.registry import backend, backends
from iree_tuner.suite.options import SuiteOptions
from iree_tuner.suite.site import Place, Site, site_at
from iree_tuner.suite.tuned import Tuning
from iree_tuner.tuning.options import Duration, EffortName

_OPTIONS, _OUTPUTS = SuiteOptions(), SuiteOutputs()
_ALL = "all"


def compare(
    sources: Annotated[tuple[str, ...], Parameter(negative="")],
    /,
    *,
    libraries: Annotated[str, Parameter(name=["--backends"])] = _ALL,
    spec: Path | None = None,
    tune: EffortName | None = None,
    budget_s: Annotated[Duration, Parameter(name="--budget")] = None,
    db: Path | None = None,
    options: SuiteOptions = _OPTIONS,
    outputs: SuiteOutputs = _OUTPUTS,
) -> int:
    """Compare operations on IREE, with and without tuning, and on other libraries.

    Each library runs in a separate process. Their samples are interleaved.

    Example: `iree-tuner suite compare cpu --tune quick -o results`

    Parameters
    ----------
    sources
        Operations: folders that `suite generate` wrote, names of suites, suite files (.toml), quoted commands
        of MIOpenDriver, BOO or Fusilli, or .txt files of such commands.
    libraries
        Libraries, separated by commas: numpy, torch, torch-compiled, onnxruntime, jax and others. Or
        all, or none. A library that is not installed is reported.
    spec
        Measure IREE with this tuning spec as `iree-tuned`.
    tune
        Tune each operation first and measure the result as `iree-tuned`. The specs are stored with the
        results.
    budget_s
        Time limit for tuning one operation: 30s, 2m. Default: no limit.
    db
        Database for tuning. Without --tune, `iree-tuned` uses the wins of earlier runs in it.
    """
    if spec is not None and (tune is not None or db is not None):
        raise UsageError("--spec excludes --tune and --db")
    if budget_s is not None and tune is None:
        raise UsageError("--budget requires --tune")
    tuning = Tuning(spec, tune, budget_s, db)
    warn_if_open(options.scheduler)
    with site_at(options.scheduler) as site:
        plan = replace(
            options.plan(sources, outputs.output, site),
            backends=_chosen(libraries, site, site.places(options.devices)),
            tuning=tuning if tuning != Tuning() else None,
            cache=default_database().with_name("rooflines.json"),
        )
        return carry_out(plan, outputs, site, blocks=False)


def _chosen(libraries: str, site: Site, places: Sequence[Place]) -> list[Backend]:
    """The named libraries, or all that support one of the devices. Print a line for each other library."""
    if libraries != _ALL:
        return [] if libraries == "none" else [backend(each) for each in libraries.split(",")]
    found: list[Backend] = []
    for each in backends().values():
        reasons = [site.library(place, each).missing for place in places]
        if all(reasons):
            people.print(f"{each.name} skipped: {reasons[0]}", style="yellow", markup=False)
        else:
            found.append(each)
    return found
