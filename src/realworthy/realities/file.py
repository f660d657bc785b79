"""What a `*.reality.yaml` says."""

import math

import msgspec

from realworthy.errors import RealworthyError
from realworthy.realities.effects import Effect
from realworthy.realities.interface import Interface

SCHEMA = 1
COARSEST = 4.0
"""Time step of a reality over its twin's, at most: then one substep is one period."""


class RealityNoise(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """Standard deviations of what is random."""

    position: float = 0.0
    """[rad] of every joint, as are the next two."""
    velocity: float = 0.0
    """[rad/s]"""
    torque: float = 0.0
    """[N·m]"""
    orientation: float = 0.0
    """[rad] of a small rotation about each axis of a reported orientation."""
    gyro: float = 0.0
    """[rad/s]"""
    acceleration: float = 0.0
    """[m/s²]"""
    process: float = 0.0
    """[N·m] of random torque on every driven joint, anew each control period."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not 0 <= getattr(self, name) < math.inf:
                raise RealworthyError(
                    f"noise: {name} is {getattr(self, name):g}; it must be 0 or more."
                )


class RealityFile(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """`*.reality.yaml`."""

    schema: int
    twin: str
    seed: int = 0
    """Of everything that is random."""
    description: str = ""
    parameters: dict[str, float] = {}
    """True e, by the twin's parameter names; nominal where left out."""
    effects: list[Effect] = []
    interface: Interface = Interface()
    noise: RealityNoise = RealityNoise()
    rate: float = 0.0
    """[Hz] at which it likes to be commanded; 0: every 4 substeps of the twin."""
    timestep_factor: float = 1.0
    """Time step of the reality's physics over the twin's: other numerics, same laws.

    The control period stays; the time step is the nearest one that divides it.
    """

    def __post_init__(self) -> None:
        if not 0 <= self.rate < math.inf:
            raise RealworthyError(f"rate is {self.rate:g}; it must be 0 or more.")
        if not 0 < self.timestep_factor <= COARSEST:
            raise RealworthyError(
                f"timestep_factor is {self.timestep_factor:g}; it must be above 0 and "
                f"at most {COARSEST:g}."
            )
