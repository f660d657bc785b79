"""Examination: a suite run on a policy, part by part, and the verdict.

Here live one cell and one margin (`cells.py`), paired comparisons with another engine
or policy (`comparisons.py`), all parts of a suite here, in processes or on Ray
(`parts.py`), the folder that keeps them (`folder.py`) and the verdict
with its reasons (`conclusion.py`).

Here do not live pages (`reports.certificate`). May import every other part of
certification but `certify`.
"""
