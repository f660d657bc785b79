"""Learners: from experience in an `Environment` to a policy.

A `Learner` collects and updates; `LEARNERS` lists what there is. Each algorithm is one
file that reads top to bottom (`ppo.py`), with its settings at the head; what they share
has files of its own: networks, recurrent units, the normaliser, rollouts, tallies of
what happened, and averaging over processes (`distributed.py`).

What a robot shall do lives in `tasks`, running a finished policy in `policies`. May
import every room above it and torch.
"""

from realworthy.learning.ars import Ars
from realworthy.learning.es import Es, es_gradient
from realworthy.learning.learner import Learner
from realworthy.learning.ppo import Ppo

LEARNERS: dict[str, type[Learner]] = {"ppo": Ppo, "ars": Ars, "es": Es}
"""Name → learner: each is built from an environment and its settings."""

__all__ = ["LEARNERS", "Ars", "Es", "Learner", "Ppo", "es_gradient"]
