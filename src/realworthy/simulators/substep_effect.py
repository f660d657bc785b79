"""What acts on worlds at every substep, beyond what a compiled model has."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from realworthy.simulators.mujoco_cpu import MujocoCpu


class SubstepEffect(ABC):
    """Something that acts on all worlds before each substep, beyond what a twin has."""

    @abstractmethod
    def start(self, simulator: "MujocoCpu") -> None:
        """Takes hold of the arrays that it needs, before the first step."""

    @abstractmethod
    def reset(self, worlds: NDArray[np.intp]) -> None:
        """Forgets what happened in some worlds."""

    @abstractmethod
    def act(self) -> None:
        """Adds to `qfrc_applied`, or moves fields, for the coming substep.

        `qfrc_applied` is zero before the first effect acts.
        """

    @property
    def is_idle(self) -> bool:
        """Whether `act` does nothing until further notice, so that it can be spared."""
        return False
