"""Programs and specs that show a defect, made smaller while a command says that they still show it.

Delta debugging (`ddmin`) over lists of edits of IR objects (`candidate.STEPS`). Edits and judges run in
workers: an edit may crash a verifier, and a judge is mostly a compiler that crashes.
May import `compiler`, `program` and `spec`; knows nothing of searching or measuring.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.reduce.candidate import Candidate
    from iree_tuner.reduce.reducer import Answer, CommandJudge, InWorkers, Reducer, ReductionProgress

__all__ = ["Answer", "Candidate", "CommandJudge", "InWorkers", "Reducer", "ReductionProgress"]

__getattr__ = lazily(__name__, {name: "candidate" if name == "Candidate" else "reducer" for name in __all__})
