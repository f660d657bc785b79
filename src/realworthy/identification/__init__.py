"""Identification: what recordings say about e.

Here live `Problem` (recordings of a robot as residuals of a twin), identifiability
(which numbers these recordings can tell, and which only together), and fits that turn
recordings into a `Belief`.

Here do not live measures of the gap that need no fit (`gap`) and the reasons for it
(`diagnosis`). May import `gap`, `simulators` and what they may; numpy and scipy, no
torch, and `mujoco` only through `simulators` and `twins`.
"""
