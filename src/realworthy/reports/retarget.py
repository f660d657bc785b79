"""The page of `retarget`: metrics beside their bars, and both figures in motion."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters.inertia import quaternion
from realworthy.reports.elements.numbers import Amount, PageTable, Tile
from realworthy.reports.elements.page import Page, write_page
from realworthy.reports.elements.plots import LineRole
from realworthy.reports.replay.build import choose_rows
from realworthy.reports.replay.meshes import build_primitive
from realworthy.reports.replay.motion import DrawnMotion, find_poses
from realworthy.reports.replay.replay import Replay
from realworthy.reports.replay.shapes import (
    BodyShape,
    is_moving,
    list_floors,
    list_shapes,
)
from realworthy.retargeting import Retargeting
from realworthy.retargeting.metrics import list_figures

Floats = NDArray[np.float64]
_BESIDE = 1.1
"""Heights of the hips by which the figure stands to the robot's left."""
_THICKNESS = 0.09
"""Of a bone, over its length; thin enough to be told from a robot's limb."""
_CAPSULE = 3


@dataclass(frozen=True, kw_only=True)
class RetargetView:
    """What the page shows."""

    replay: Replay
    table: PageTable
    errors: PageTable
    remarks: tuple[str, ...]


def write_retargeting(
    found: Retargeting, path: Path | str, *, title: str, overwrite: bool = False
) -> None:
    """Writes the page: one HTML file without links to others, whole or not at all."""
    metrics = found.metrics
    page = Page(
        command="retarget",
        title=title,
        subtitle=f"a {found.figure.name} on {found.robot.twin.name}",
        warnings=found.remarks,
        tone="good" if metrics.is_good else "bad",
        verdict="The robot can be asked for it"
        if metrics.is_good
        else "Outside what is good",
        summary="Kinematics alone: joint ranges, motors' speeds, floor and steps. "
        "Whether it keeps its balance, a tracking policy shows.",
        tiles=(
            Tile(
                label="key bodies off", value=Amount(100 * metrics.key_body_error, "cm")
            ),
            Tile(
                label="slide of standing feet",
                value=Amount(100 * metrics.foot_slide, "cm/s"),
            ),
            Tile(
                label="into the floor",
                value=Amount(1000 * metrics.penetration_max, "mm"),
            ),
            Tile(label="rows solved per second", value=Amount(found.frames_per_second)),
        ),
    )
    rows = tuple(
        (line.name, Amount(line.value, line.unit), Amount(line.bar, line.unit))
        for line in list_figures(metrics)
    )
    errors = tuple(
        (name.replace("_", " "), Amount(100 * value, "cm"))
        for name, value in metrics.key_body_errors.items()
    )
    view = RetargetView(
        replay=build_pair(found, title),
        table=PageTable(caption="Metrics", columns=("", "value", "at most"), rows=rows),
        errors=PageTable(
            caption="Distance from the figure in the robot's size, mean",
            columns=("part", "distance"),
            rows=errors,
        ),
        remarks=found.remarks,
    )
    write_page("retarget.html", page, view, path, overwrite=overwrite)


def build_pair(found: Retargeting, title: str) -> Replay:
    """The figure as bones, in the robot's size, and the robot to its right."""
    model, targets = found.robot.model, found.targets
    bodies = [shape for shape in list_shapes(model) if is_moving(model, shape.body)]
    bones = [
        (a, b)
        for a, b in found.figure.bones
        if a in targets.figure and b in targets.figure
    ]
    rows = choose_rows(targets.time, 0, len(bodies) + len(bones))
    place, turn = find_poses(model, found.qpos[rows], [shape.body for shape in bodies])
    shapes, places, turns = [*bodies], [place], [turn]
    aside = _BESIDE * found.robot.height * targets.trunk[0, :, 1]
    for a, b in bones:
        start, end = (targets.figure[name][rows] + aside * [1, 1, 0] for name in (a, b))
        length = float(np.median(np.linalg.norm(end - start, axis=1)))
        radius = _THICKNESS * length
        mesh = build_primitive(_CAPSULE, np.array([radius, length / 2, 0]))
        assert mesh is not None  # a capsule is one of them
        shapes.append(BodyShape(-1, mesh, f"{a} to {b}"))
        places.append(((start + end) / 2)[:, None])
        turns.append(_point_along(end - start)[:, None])
    base = next((i for i, s in enumerate(bodies) if s.body == found.robot.trunk), None)
    drawn = DrawnMotion(
        role=LineRole.TWIN,
        label=f"{found.robot.twin.name}, and the {found.figure.name} in its size",
        position=np.concatenate(places, axis=1),
        quaternion=np.concatenate(turns, axis=1),
    )
    return Replay(
        title=title,
        time=targets.time[rows],
        shapes=tuple(shapes),
        fixed=(),
        floors=tuple(list_floors(model)),
        motions=(drawn,),
        base=base,
    )


def _point_along(direction: Floats) -> Floats:
    """(rows, 4) turns of the z axis into a direction."""
    z = direction / np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-9)
    helper = np.where(np.abs(z[:, 2:]) > 0.9, [[1.0, 0, 0]], [[0, 0, 1.0]])
    x = np.cross(helper, z)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return quaternion(np.stack([x, np.cross(z, x), z], axis=-1))
