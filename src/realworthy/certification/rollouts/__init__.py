"""Rollouts: a policy in many worlds, one episode in each.

Here live the episodes (`episodes.py`), the link with delays and losses between policy
and worlds (`disturbed_link.py`), what an episode recorded (`trace.py`), what went wrong
in it (`detectors.py`) and the same on stand-ins for robots (`realities.py`).

Here do not live verdicts (`examination`) nor choices of e (`limits`). May import
`suite.condition`, `subject`, `certificate`, and `tasks` and rooms above it.
"""
