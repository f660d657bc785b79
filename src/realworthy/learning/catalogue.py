"""Every learner that comes with Realworthy, by name, and its settings as plain data."""

import msgspec

from realworthy.errors import RealworthyError, UnknownName
from realworthy.learning.ars import Ars
from realworthy.learning.es import Es
from realworthy.learning.fast_sac import FastSac
from realworthy.learning.fast_td3 import FastTd3
from realworthy.learning.fb import Fb
from realworthy.learning.fpo import Fpo
from realworthy.learning.learner import Learner, LearnerSettings
from realworthy.learning.learner_files import find_name, load_learner
from realworthy.learning.ppo import Ppo
from realworthy.learning.sapg import Sapg
from realworthy.tasks.task_files import is_file_task

LEARNERS: dict[str, type[Learner]] = {
    "ppo": Ppo,
    "sapg": Sapg,
    "fastsac": FastSac,
    "fasttd3": FastTd3,
    "fpo": Fpo,
    "fb": Fb,
    "ars": Ars,
    "es": Es,
}
"""Name → learner: each is built from an environment and its settings."""


def find_learner(name: str, *, is_named: bool = True) -> type[Learner]:
    """A learner by its name, one of ours or `my_file.py:MyLearner`.

    A file runs where the user has named it, now or, unless it `is_named`, before.
    """
    if is_file_task(name):
        return load_learner(name, is_named=is_named)
    if name not in LEARNERS:
        hint = "Or one of your own: my_file.py:MyLearner. All: realworthy show learners"
        raise UnknownName("learner", name, LEARNERS, owner="Realworthy", hint=hint)
    return LEARNERS[name]


def name_learner(settings: LearnerSettings) -> str:
    """The name of the learner with such settings; see `name_settings`."""
    return name_settings(type(settings))


def name_settings(kind: type[LearnerSettings]) -> str:
    """The name of the learner whose settings these are; of a user's own, its file and
    class.

    Where no file has it, it is that of the settings' class, and cannot be found again.
    """
    for name, learner in LEARNERS.items():
        if learner.Settings is kind:
            return name
    return find_name(kind) or f"{kind.__module__}.{kind.__qualname__}"


def to_tree(settings: LearnerSettings) -> dict[str, object]:
    """As a run's settings.yaml has them, the learner's name first."""
    return {"name": name_learner(settings), **msgspec.to_builtins(settings)}


def from_tree(tree: dict[str, object]) -> LearnerSettings:
    """The settings that `to_tree` wrote."""
    rest = dict(tree)
    name = str(rest.pop("name", ""))
    if name not in LEARNERS and "." in name and not is_file_task(name):
        raise RealworthyError(
            f"'{name}' is no learner of Realworthy's, and in no file of its own.",
            hint="Begin another run, with a learner in a file: my_file.py:MyLearner.",
        )
    settings = find_learner(name, is_named=False).Settings
    return msgspec.convert(rest, settings, strict=False)
