"""Adaptation: policies that infer what they cannot see, and searches by trials.

One file per method, each a story from top to bottom: `teacher_student.py` (a history
student by DAgger), `rma.py` (a latent of e from the last half second; UP-OSI, which
infers e itself, is the same two phases), `memory.py` (a recurrent policy, and a probe),
`mppi.py` (plans as it runs; `planning.py` compares planners), `strategy.py` (a vector
that is searched by real return), `simopt.py` (p(e) moved by trials; `match.py` does it
on a robot). What they share: the history that a student sees
(`history.py`), worlds whose e a teacher is told and the policy conditioned on it
(`conditioned.py`), imitation (`imitation.py`), trials on a robot and their return
(`trials.py`, `score.py`), and what comes out (`adaptation.py`).

Uses `learning` and every room above it. Here does not live what adapts on a robot's own
computer without a network: that is `deployment.adaptive`.
"""

from realworthy.adaptation.adapt import METHODS, AdaptMethod, adapt
from realworthy.adaptation.adaptation import Adaptation, Arm
from realworthy.adaptation.settings import AdaptSettings

__all__ = ["METHODS", "AdaptMethod", "AdaptSettings", "Adaptation", "Arm", "adapt"]
