"""Body maps: which parts of a robot stand for which points of a figure.

Written ones are files of `body_maps/`, found by the name of the robot's model; for
another robot `draft.py` proposes one.
"""

from functools import cache
from pathlib import Path

import msgspec

from realworthy.artefacts import load
from realworthy.errors import RealworthyError, UnknownName
from realworthy.retargeting.figure import Figure, load_figure
from realworthy.twins import Twin

_FOLDER = Path(__file__).parent / "body_maps"
_SCENE = " scene"
"""End of the name of a model that a file with a floor takes in, as Menagerie's do."""
Vector = tuple[float, float, float]


class PointOnBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A point that a body carries."""

    body: str
    at: Vector = (0.0, 0.0, 0.0)
    """[m] in the body's frame."""


class BodyMap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One robot as a figure. Feet are the robot's own (`twin.roles.feet`)."""

    schema: int
    figure: str
    trunk: str
    """The body that carries the hips."""
    points: dict[str, PointOnBody]
    """Part of the figure → point of the robot. Hips are carried by the trunk and
    shoulders by the chest, so that they tell where these are."""
    feet: dict[str, str]
    """Foot of the figure → body of the robot."""
    models: list[str] = []
    """Names of the models that the map was written for."""
    chest: str = ""
    """The body that carries the shoulders; empty: the trunk does."""
    speed_limits: dict[str, float] = {}
    """Joint → [rad/s] at no load, where the twin has no datasheet."""
    source: str = ""
    """Where the speeds are from."""


@cache
def list_maps() -> dict[str, BodyMap]:
    """Name of the file → map."""
    files = sorted(_FOLDER.glob("*.yaml"))
    return {file.stem: load_map(file) for file in files}


def load_map(path: Path | str) -> BodyMap:
    return load(Path(path), BodyMap, schema=1)


def find_map(twin: Twin, figure: Figure) -> BodyMap | None:
    """The map written for a twin's model; None where there is none."""
    model = twin.base_spec.modelname.removesuffix(_SCENE)
    fitting = (
        each
        for each in list_maps().values()
        if each.figure == figure.name and model in each.models
    )
    return next(fitting, None)


def check_map(body_map: BodyMap, twin: Twin, figure: Figure) -> None:
    """Raises where a map and a robot, or a map and a figure, do not fit."""
    if body_map.figure != figure.name:
        raise RealworthyError(
            f"The body map is for a {body_map.figure}, and the motion is a "
            f"{figure.name}'s."
        )
    model = twin.compiled.model
    bodies = [model.body(i).name for i in range(model.nbody)]
    joints = [model.joint(i).name for i in range(model.njnt)]
    wanted = [body_map.trunk, *([body_map.chest] if body_map.chest else [])]
    wanted += [point.body for point in body_map.points.values()]
    for body in (*wanted, *body_map.feet.values()):
        if body not in bodies:
            raise UnknownName("body", body, bodies, owner=twin.owner)
    for joint in body_map.speed_limits:
        if joint not in joints:
            raise UnknownName("joint", joint, joints, owner=twin.owner)
    for part in body_map.points:
        if part not in figure.points:
            raise UnknownName(
                "part", part, tuple(figure.points), owner=f"the figure '{figure.name}'"
            )
    left_out = [foot for foot in figure.feet if foot not in body_map.feet]
    if left_out:
        raise RealworthyError(
            f"The body map leaves out the {left_out[0].replace('_', ' ')} foot.",
            hint=f"Under feet: it needs {', '.join(figure.feet)}.",
        )
    for name, foot in figure.feet.items():
        needed = (foot.hip, foot.ankle) if foot.knee else (foot.hip,)
        for part in needed:
            if part not in body_map.points:
                raise RealworthyError(
                    f"The body map has no '{part}', which its {name} leg needs."
                )


def load_figure_of(body_map: BodyMap) -> Figure:
    return load_figure(body_map.figure)
