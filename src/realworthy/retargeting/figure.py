"""Figures: people and animals as named points, whatever their capture calls them."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import load
from realworthy.errors import RealworthyError, UnknownName
from realworthy.recordings.motion import Motion

Floats = NDArray[np.float64]
Points = dict[str, Floats]
"""Part of a figure → (rows, 3) [m]."""
FIGURES = ("human", "dog")
_UPRIGHT = 0.3
"""Share of the legs' length that hips are above feet, the median of all rows. People
who climb, sit and squat have 0.5 and more (2026-11-19); a capture whose y is up and
which was not turned has about 0."""


class FigureFoot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The points of one leg."""

    hip: str
    ankle: str
    """Or the only point of a foot that has no sole."""
    knee: str = ""
    toe: str = ""


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which points a body has, and how they hang together."""

    schema: int
    name: str
    points: dict[str, list[str]]
    """Part → names that captures give it."""
    hips: list[tuple[str, str]]
    """Left and right, front pair before rear."""
    feet: dict[str, FigureFoot]
    bones: list[tuple[str, str]]
    optional: list[str] = []
    upper: list[str] = []
    """From the hips up to the neck; empty where the trunk lies."""
    shoulders: list[str] = []
    arms: dict[str, list[str]] = {}


@cache
def load_figure(name: str) -> Figure:
    """A figure that is shipped."""
    if name not in FIGURES:
        raise UnknownName("figure", name, FIGURES, owner="Realworthy")
    return load(Path(__file__).parent / "figures" / f"{name}.yaml", Figure, schema=1)


def find_figure(motion: Motion, chosen: Mapping[str, str]) -> Figure:
    """The figure that most of a motion's points belong to."""
    counts = {
        name: len(match(load_figure(name), motion, chosen))
        / len(load_figure(name).points)
        for name in FIGURES
    }
    return load_figure(max(counts, key=lambda name: counts[name]))


def match(figure: Figure, motion: Motion, chosen: Mapping[str, str]) -> dict[str, str]:
    """Part → the motion's body; parts that are not there are left out.

    `chosen` overrides what the names suggest.
    """
    bodies = () if motion.bodies is None else motion.bodies.names
    plain = {_simplify(name): name for name in reversed(bodies)}
    found = {part: body for part, body in chosen.items() if part in figure.points}
    for part, aliases in figure.points.items():
        if part in found:
            continue
        free = (
            plain[a] for a in aliases if a in plain and plain[a] not in found.values()
        )
        body = next(free, None)
        if body is not None:
            found[part] = body
    return found


def _simplify(name: str) -> str:
    """Small letters and digits, without a rig's own name before a colon."""
    return re.sub(r"[^a-z0-9]", "", name.rpartition(":")[2].lower())


def read_points(motion: Motion, figure: Figure, chosen: Mapping[str, str]) -> Points:
    """The tracks of a figure; raises where one that is needed is not there."""
    if motion.bodies is None:
        raise RealworthyError(
            "The motion has no bodies: it is a robot's already, or only its joints.",
            hint="What can be retargeted has points of a person or an animal.",
        )
    names = motion.bodies.names
    for part, body in chosen.items():
        if part not in figure.points:
            raise UnknownName(
                "part", part, tuple(figure.points), owner=f"the figure '{figure.name}'"
            )
        if body not in names:
            raise UnknownName("joint", body, names, owner="the motion")
    found = match(figure, motion, chosen)
    missing = [p for p in figure.points if p not in found and p not in figure.optional]
    if missing:
        raise RealworthyError(
            f"The motion has no joint for '{missing[0]}' of a {figure.name}; "
            f"{len(missing)} of {len(figure.points)} are missing.",
            hint=f"Its joints: {', '.join(names[:40])}. Name it: "
            f"--point {missing[0]}=JOINT",
        )
    points = {part: motion.bodies[body] for part, body in found.items()}
    _check_upright(points, figure)
    return points


def _check_upright(points: Points, figure: Figure) -> None:
    legs = [points[foot.hip] - points[foot.ankle] for foot in figure.feet.values()]
    length = np.median([np.linalg.norm(leg, axis=1) for leg in legs])
    height = np.median([leg[:, 2] for leg in legs])
    if height < _UPRIGHT * length:
        raise RealworthyError(
            f"The hips are {height:.2f} m above the feet, and legs {length:.2f} m "
            "long: the motion's z does not point up.",
            hint="In bodies of ours z is up; turn the motion before it is loaded.",
        )
