"""Learners: from experience in an `Environment` to a policy.

A `Learner` collects, updates, acts and keeps its state; `LEARNERS` lists what there is.
Runs (`train.py`, `practice.py`, `judgement.py`) know none of them by name. Each
algorithm is one file that reads top to bottom (`ppo.py`), with its settings at the
head; what they share has files of its own: networks, recurrent units, the normaliser,
rollouts, tallies of what happened, and averaging over processes (`distributed.py`).
`presets.py` says how each learns each task.

What a robot shall do lives in `tasks`, running a finished policy in `policies`. May
import every room above it and torch.
"""

from realworthy.learning.ars import Ars
from realworthy.learning.catalogue import LEARNERS
from realworthy.learning.es import Es, es_gradient
from realworthy.learning.fast_sac import FastSac
from realworthy.learning.fast_td3 import FastTd3
from realworthy.learning.fb import Fb
from realworthy.learning.fpo import Fpo
from realworthy.learning.learner import Learner
from realworthy.learning.ppo import Ppo
from realworthy.learning.sapg import Sapg

__all__ = [
    "LEARNERS",
    "Ars",
    "Es",
    "FastSac",
    "FastTd3",
    "Fb",
    "Fpo",
    "Learner",
    "Ppo",
    "Sapg",
    "es_gradient",
]
