"""Limits: over which values of e a policy works, and where it fails first.

Here live the ranges of e in which sampled robots are tried (`validity.py`), the bound
on robots that were not tried (`tolerance.py`), the search of the unit cube for the
lowest score (`search.py`) and the worst-case parameters that it finds
(`worst_case.py`).

Here does not live one condition with e at its nominal value (`examination.cells`). May
import `rollouts`, `suite`, `certificate.results` and `certificate.statistics`.
"""
