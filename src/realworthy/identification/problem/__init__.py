"""Recordings as residuals of a twin: everything that a solver makes small.

Here live `Problem` (recordings replayed in many worlds at once; simulated minus
measured, over the noise), `SumOfSquares` (the interface that solvers ask for; write
another subclass to fit something else), pieces and their starts, the coordinates z in
which a search moves, and `JointByJointProblem` (geared joints, each on its own).

Here do not live searches (`solver`) and choices of what to fit (`calibration`). May
import `gap`, `simulators` and what they may; nothing of this room.
"""
