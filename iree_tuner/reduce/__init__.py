"""Programs and specs that show a defect, made smaller while a command says that they still show it.

Delta debugging (`ddmin`) over lists of edits of IR objects (`reducer.STEPS`). Edits and judges run in
workers: an edit may crash a verifier, and a judge is mostly a compiler that crashes.
May import `compiler`, `program` and `spec`; knows nothing of searching or measuring.
"""
