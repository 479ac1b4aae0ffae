"""Programs and specs that show a defect, made smaller while a command says that they still show it.

Delta debugging (`ddmin`) over lists of edits of IR objects (`candidate.STEPS`). Edits and judges run in
workers: an edit may crash a verifier, and a judge is mostly a compiler that crashes.
May import `compiler`, `program` and `spec`; knows nothing of searching or measuring.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.reduce.candidate import Candidate
    from iree_tuner.reduce.judge import Answer, CommandJudge
    from iree_tuner.reduce.lab import InWorkers
    from iree_tuner.reduce.reducer import Reducer, ReductionProgress

__all__ = ["Answer", "Candidate", "CommandJudge", "InWorkers", "Reducer", "ReductionProgress"]

_HOMES = {
    "Answer": "judge",
    "Candidate": "candidate",
    "InWorkers": "lab",
    "CommandJudge": "judge",
    "ReductionProgress": "reducer",
    "Reducer": "reducer",
}

__getattr__ = lazily(__name__, _HOMES)
