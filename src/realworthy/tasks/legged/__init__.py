"""Legged robots: walk with a commanded velocity, on four legs or on two.

`quadruped.py` and `biped.py` have the tasks and their rewards. Shared by them:
`locomotion.py` (motion of the base, contacts of the feet, velocity commands),
`stance.py` (the pose that actions move around), `terrain.py` (a height field of tiles,
levels from row to row) and `walk_metrics.py` (tracking errors, slip and foot travel).

Here do not live a floor, foot contacts or servos that a model lacks
(`tasks/prepared_twin.py`). May import `tasks.task`, `tasks.environment`,
`tasks.randomization` and rooms above tasks.
"""
