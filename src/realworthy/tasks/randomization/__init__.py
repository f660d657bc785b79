"""Randomization: how worlds differ while a policy learns, and how that may change.

`randomization.py` has the settings: e from a belief, noise, pushes, latency.
`tables.py` makes them from published ranges or a calibrated belief, `curriculum.py`
narrows them at first, `automatic.py` widens a box of e as long as the policy copes, and
`pushing.py` applies pushes.

Here does not live what p(e) is (`parameters`), nor what learns it (`identification`).
May import `parameters`, `twins` and, for random numbers, `tasks.environment.chance`.
"""
