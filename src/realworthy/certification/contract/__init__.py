"""Contract: does what a policy expects of a robot fit this twin and this task?

Here live the checks of names, units, order, signs, gains, limits, delays, the
normaliser and the examples that a policy carries (`check.py` calls the others), the
meaning of every column of an observation (`terms.py`), and `finding.py`: one check,
its mark and its remedy.

Here do not live drafts of contracts for files without one (`foreign`), nor anything
that plays the policy (`rollouts`). May import `policies`, `tasks` and rooms above them;
of certification nothing.
"""
