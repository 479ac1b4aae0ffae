"""A task's search, ready to run: where to start, what to try first, and where it is written down."""

from __future__ import annotations

from collections.abc import Sequence

from iree_tuner.cost.landscape import SpaceLandscape
from iree_tuner.measure.machine import machine_of
from iree_tuner.measure.setting import Setting
from iree_tuner.program.fingerprint import fingerprint
from iree_tuner.search.registry import make_strategy
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.joint import JointSpace
from iree_tuner.space.starting_point import nearest_member, starting_point_of
from iree_tuner.spec.starters import Starter
from iree_tuner.store.study import StudyKey
from iree_tuner.tuning.ledger import Records
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.weigh import Weighed

_RELATIVES = 3
_EACH = 3


def prepare_search(
    weighed: Weighed, space: JointSpace, strategy: str, seed: int, starters: Sequence[Starter],
    found_elsewhere: Sequence[Assignment] = (),
) -> Search:  # fmt: skip
    """A search that has tried nothing yet.

    Args:
        weighed: the task.
        space: what can be tried.
        strategy: name of the strategy.
        seed: of everything random.
        starters: what specs say of the workload; tried first.
        found_elsewhere: members of the spaces of other workloads; what is nearest to them is tried then.
    """
    dispatch = weighed.task.dispatches[0]
    start_at = starting_point_of(space, dispatch.default, dispatch.pipeline, dispatch.decomposition)
    landscape = SpaceLandscape(space, machine_of(weighed.bench.device, dispatch.limits))
    search = Search(
        weighed.task.workload.key,
        space.configuration,
        make_strategy(strategy, landscape, seed, start_at),
        weighed.bench,
        weighed.default.digest,
        weighed.default_us,
        weighed.default.crowding,
    )
    for starter in starters:
        found = starting_point_of(space, starter.lowering_config, starter.translation_info)
        if found is not None and found not in search.starters and found != start_at:
            search.starters.append(found)
    for wanted in found_elsewhere:
        near = nearest_member(space, wanted)
        if near is not None and near not in search.starters and near != start_at:
            search.starters.append(near)
    return search


def best_of_relatives(records: Records, key: StudyKey) -> list[Assignment]:
    """What was best for workloads like one, the best of each first."""
    found = records.relatives(key, _RELATIVES, _EACH)
    return [each.best[place].assignment for place in range(_EACH) for each in found if place < len(each.best)]


def study_key(weighed: Weighed, space: JointSpace, setting: Setting) -> StudyKey:
    """What has to be equal for the trials of another run to stand for those of this one."""
    return StudyKey(
        setting=setting,
        workload=weighed.task.workload,
        code=fingerprint(weighed.bench.harness),
        space=space.fingerprint,
        space_label=space.label,
        space_size=space.count(),
    )
