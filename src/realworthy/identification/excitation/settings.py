"""How a motion is designed."""

from dataclasses import dataclass

import numpy as np

from realworthy.errors import RealworthyError
from realworthy.identification.excitation.criterion import Criterion


@dataclass(kw_only=True, slots=True)
class ExcitationSettings:
    """How a motion is designed."""

    seconds: float = 20.0
    criterion: Criterion = Criterion.D
    noise: float = 1e-3
    """[rad] sd of measured positions, white."""
    period: float = 10.0
    """[s] after which the motion repeats itself; at most `seconds`."""
    harmonic_count: int = 8
    highest_frequency: float = 3.0
    """[Hz]; faster motions shake what is flexible."""
    fade: float = 1.0
    """[s] from rest to full motion, and back."""
    first_count: int | None = None
    """Random motions to begin with; None: six, and more where few joints move."""
    child_count: int | None = None
    """New motions in each generation, beside the mixture; None: four, or more."""
    generation_count: int = 8
    sample_count: int = 2
    """Draws of e over which the criterion is averaged, the likeliest among them."""
    check_count: int = 8
    """Draws of e with which the limits of the result are checked."""
    coarse: int = 4
    """Time steps of the search over the twin's; the result is checked with its own."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.seconds <= 600:
            raise RealworthyError(
                f"A motion of {self.seconds:g} s cannot be designed.",
                hint="Choose from 1 to 600 s.",
            )
        if not 0 < self.noise < np.inf:
            raise RealworthyError(f"noise is {self.noise:g} rad; it must be above 0.")
        for name in ("first_count", "generation_count", "sample_count", "check_count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise RealworthyError(f"{name} is {value}; it must be 1 or more.")
