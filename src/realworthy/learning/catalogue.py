"""Every learner that comes with Realworthy, by name, and its settings as plain data."""

import msgspec

from realworthy.errors import RealworthyError, UnknownName
from realworthy.learning.ars import Ars
from realworthy.learning.es import Es
from realworthy.learning.fast_sac import FastSac
from realworthy.learning.fast_td3 import FastTd3
from realworthy.learning.learner import Learner, LearnerSettings
from realworthy.learning.ppo import Ppo
from realworthy.learning.sapg import Sapg

LEARNERS: dict[str, type[Learner]] = {
    "ppo": Ppo,
    "sapg": Sapg,
    "fastsac": FastSac,
    "fasttd3": FastTd3,
    "ars": Ars,
    "es": Es,
}
"""Name → learner: each is built from an environment and its settings."""


def find_learner(name: str) -> type[Learner]:
    """A learner by its name."""
    if name not in LEARNERS:
        hint = "All: realworthy show learners"
        raise UnknownName("learner", name, LEARNERS, owner="Realworthy", hint=hint)
    return LEARNERS[name]


def name_learner(settings: LearnerSettings) -> str:
    """The name of the learner with such settings; of one of a user's own, its class."""
    for name, learner in LEARNERS.items():
        if learner.Settings is type(settings):
            return name
    return f"{type(settings).__module__}.{type(settings).__qualname__}"


def to_tree(settings: LearnerSettings) -> dict[str, object]:
    """As a run's settings.yaml has them, the learner's name first."""
    return {"name": name_learner(settings), **msgspec.to_builtins(settings)}


def from_tree(tree: dict[str, object]) -> LearnerSettings:
    """The settings that `to_tree` wrote."""
    rest = dict(tree)
    name = str(rest.pop("name", ""))
    if name not in LEARNERS and "." in name:
        raise RealworthyError(
            f"'{name}' is no learner of Realworthy's; its settings were not kept.",
            hint="Begin another run with it.",
        )
    return msgspec.convert(rest, find_learner(name).Settings, strict=False)
