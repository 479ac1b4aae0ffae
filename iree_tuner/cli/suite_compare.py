"""`iree-tuner suite compare`: operations on IREE beside other libraries, in interleaved rounds."""

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
from iree_tuner.tuning.effort import EffortName
from iree_tuner.tuning.options import Duration

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
    """Time operations on IREE, by default and tuned, beside other libraries, each in a process of its own.

    Example: `iree-tuner suite compare cpu --tune quick -o results`

    Parameters
    ----------
    sources
        Folders that `suite generate` wrote, named suites, suite files (.toml), commands of MIOpenDriver, BOO
        or Fusilli in quotes, .txt files of these.
    libraries
        Joined by commas: numpy, torch, torch-compiled, onnxruntime, jax, triton and others; all, or none.
        What is not installed says so.
    spec
        A tuning spec, for `iree-tuned`.
    tune
        Tune each operation first, for `iree-tuned`. Specs are kept with the results.
    budget_s
        Time for tuning each operation: 30s, 2m.
    db
        Database that tuning uses; without --tune, what earlier runs proved there is `iree-tuned`.
    """
    if spec is not None and (tune is not None or db is not None):
        raise UsageError("--spec goes neither with --tune nor with --db")
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
    """Those that are named; or all that are there for one of the devices, with a line for each other."""
    if libraries != _ALL:
        return [] if libraries == "none" else [backend(each) for each in libraries.split(",")]
    found: list[Backend] = []
    for each in backends().values():
        reasons = [site.library(place, each).missing for place in places]
        if all(reasons):
            people.print(f"{each.name} is left out: {reasons[0]}", style="yellow", markup=False)
        else:
            found.append(each)
    return found
