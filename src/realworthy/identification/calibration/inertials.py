"""Masses and centres of mass where commands are forces, and what they say together.

A force moves a mass: in recordings of torque-driven joints, masses, inertias and
friction are all measured in units of the commanded torque. If that torque is off by a
factor, so are they, and no recording of such joints can tell. Their ratios hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from realworthy.parameters import GaussianBelief
from realworthy.twins import Twin, bind
from realworthy.twins.links import compute_swing_length, find_links, swings_alone

_MAX_BODIES = 6
"""Bodies beyond which a twin's masses are fitted by one factor."""
_RATIO_DRAWS = 512
"""Draws of the belief from which a ratio gets its interval."""


def list_inertials(twin: Twin, joints: Sequence[str]) -> tuple[str, ...]:
    """Centres of mass and masses of the bodies that torque-driven `joints` turn.

    Of a centre only the component counts that is largest across the joint's axis: how
    far out the body's weight is. Empty where there are many bodies.
    """
    bodies = find_links(bind(twin), joints)
    if not 0 < len(bodies) <= _MAX_BODIES:
        return ()
    centres = [f"{body}.centre_of_mass.{axis}" for body, axis in bodies.items()]
    return (*centres, *(f"{body}.mass" for body in reversed(list(bodies))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Inertia about a joint over mass times lever: the length that it swings with."""

    joint: str
    mean: float
    """[m]"""
    sd: float
    before: float
    """Of the twin that was given."""

    def to_words(self) -> str:
        return (
            f"{self.joint}: inertia over mass times centre of mass, J/(m·c) = "
            f"{self.mean:.4g} ± {1.645 * self.sd:.2g} m (90 %), before "
            f"{self.before:.4g} m."
        )


def describe_scale(ratios: Sequence[Ratio]) -> str:
    """What recordings of torques that nobody has calibrated can tell."""
    return (
        "The absolute scale is not identified unless the torque is calibrated: masses, "
        "inertias and friction are in units of the commanded torque, and only their "
        "ratios hold. " + " ".join(ratio.to_words() for ratio in ratios)
    )


def compute_ratios(
    before: Twin, after: Twin, belief: GaussianBelief, joints: Sequence[str]
) -> tuple[Ratio, ...]:
    """J/(m·c) of every last link that a torque turns, armature included."""
    links = find_links(bind(after), joints)
    moved = [n for n in belief.space.names if n.rpartition(".")[0] in (*links, *joints)]
    moved += [n for n in belief.space.names if ".centre_of_mass." in n]
    if not links or not moved:
        return ()
    bound = bind(after, belief.space)
    draws = belief.sample(_RATIO_DRAWS, seed=0)
    draws = np.clip(draws, belief.space.lower, belief.space.upper)
    models = [bound.sample_model(draw) for draw in draws]
    return tuple(
        Ratio(
            joint=joint,
            mean=compute_swing_length(after.compiled.model, joint),
            sd=float(np.std([compute_swing_length(m, joint) for m in models])),
            before=compute_swing_length(before.compiled.model, joint),
        )
        for joint in joints
        if swings_alone(bound.model, joint)
    )
