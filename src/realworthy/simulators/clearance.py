"""How close parts of a robot come to each other, and to what stands around it."""

import copy
from collections.abc import Iterator, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.twins import BoundTwin
from realworthy.twins.layout import Layout

Floats = NDArray[np.float64]


class Clearance:
    """Distances between parts that could collide, in poses of some joints.

    Parts that the model itself lets pass through each other do not count, and neither
    do those that are closer than `reach` [m] in the home pose: they touch by design.
    """

    def __init__(
        self, bound: BoundTwin, joints: Sequence[str], *, reach: float
    ) -> None:
        layout = Layout(bound)
        self.reach = reach
        self._model = copy.copy(bound.model)
        self._model.geom_margin[:] = reach
        self._data = mujoco.MjData(self._model)
        self._home = bound.compiled.own["own.initial_qpos"].copy()
        self._places = [layout.joint(joint)[0] for joint in joints]
        self._exempt = set(self._find_pairs())

    def measure(self, position: Floats) -> tuple[Floats, tuple[str, str]]:
        """(rows,) smallest distance [m], at most `reach`, and the closest two bodies.

        `position` is (rows, joints); other joints are at home. Negative: they overlap.
        """
        least = np.full(len(position), self.reach)
        closest, pair = self.reach, ("", "")
        for row, values in enumerate(position):
            near = self._find_pairs(values)
            for geoms, distance in near.items():
                if geoms in self._exempt:
                    continue
                least[row] = min(least[row], distance)
                if distance < closest:
                    closest, pair = distance, self._name(geoms)
        return least, pair

    def find_culprit(self, position: Floats, home: Floats) -> int | None:
        """The joint that brings parts closest by leaving home; None where none does.

        `position` is one (joints,) pose in which parts are too close.
        """
        step = 1e-3
        moved = np.concatenate(
            [position[None], position + step * np.eye(len(position))]
        )
        distance, _ = self.measure(moved)
        approach = -(distance[1:] - distance[0]) / step * (position - home)
        worst = int(np.argmax(approach))
        return worst if approach[worst] > 0 else None

    def _find_pairs(self, values: Floats | None = None) -> dict[tuple[int, int], float]:
        """Pairs of shapes within reach in a pose, and how far apart they are."""
        model, data = self._model, self._data
        data.qpos[:] = self._home
        if values is not None:
            data.qpos[self._places] = values
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        if data.ncon == 0:
            return {}
        reaches: dict[tuple[int, int], float] = {}
        geoms, distances = data.contact.geom, data.contact.dist
        for (first, second), distance in zip(
            geoms.tolist(), distances.tolist(), strict=True
        ):
            if distance < self.reach:
                key = (min(first, second), max(first, second))
                reaches[key] = min(reaches.get(key, self.reach), distance)
        return reaches

    def _name(self, geoms: tuple[int, int]) -> tuple[str, str]:
        bodies = [int(self._model.geom_bodyid[g]) for g in geoms]
        first, second = (
            mujoco.mj_id2name(self._model, mujoco.mjtObj.mjOBJ_BODY, b) for b in bodies
        )
        return str(first), str(second)


def find_lowest(bound: BoundTwin, joints: Sequence[str], position: Floats) -> Floats:
    """(rows,) [m] height below which nothing that moves and can touch reaches.

    By the boxes around its shapes, so the shapes may end a little higher. `position` is
    (rows, joints); other joints are at home. inf where nothing that moves can touch.
    """
    model = bound.model
    touching = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    geoms = np.flatnonzero(touching & (model.body_weldid[model.geom_bodyid] != 0))
    middle, half = model.geom_aabb[geoms, :3], model.geom_aabb[geoms, 3:]
    lowest = np.full(len(position), np.inf)
    for row, data in enumerate(_take_poses(bound, joints, position)):
        up = data.geom_xmat[geoms, 6:]  # of each shape's axes
        reach = (up * middle - np.abs(up) * half).sum(axis=1)
        lowest[row] = (data.geom_xpos[geoms, 2] + reach).min(initial=np.inf)
    return lowest


def measure_depth(bound: BoundTwin, joints: Sequence[str], position: Floats) -> Floats:
    """(rows,) [m] how deep what moves lies in level planes of the world; 0: not at all.

    `position` is (rows, joints); other joints are at home.
    """
    model = bound.model
    floors = (model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)) & (
        model.geom_bodyid == 0
    )
    floors &= ~model.geom_quat[:, 1:3].any(axis=1)
    moves = model.body_weldid[model.geom_bodyid] != 0
    depth = np.zeros(len(position))
    for row, data in enumerate(_take_poses(bound, joints, position)):
        mujoco.mj_collision(model, data)
        geoms = data.contact.geom
        between = floors[geoms].any(axis=1) & moves[geoms].any(axis=1)
        depth[row] = -data.contact.dist[between].min(initial=0.0)
    return depth


def _take_poses(
    bound: BoundTwin, joints: Sequence[str], position: Floats
) -> Iterator[mujoco.MjData]:
    """Shapes where they are in each of (rows, joints) poses, the same data anew."""
    model, layout = bound.model, Layout(bound)
    data = mujoco.MjData(model)
    data.qpos[:] = bound.compiled.own["own.initial_qpos"]
    places = [layout.joint(joint)[0] for joint in joints]
    for values in position:
        data.qpos[places] = values
        mujoco.mj_kinematics(model, data)
        yield data


def has_ground(bound: BoundTwin) -> bool:
    """Whether a plane or a height field lies under the robot."""
    grounds = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
    return bool(np.isin(bound.model.geom_type, [int(kind) for kind in grounds]).any())


def without_contacts(spec: mujoco.MjSpec) -> None:
    """Lets everything pass through everything: quicker, where nothing touches."""
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
