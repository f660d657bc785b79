"""The robot in three dimensions, solid, with the real one beside it as a ghost."""

from collections.abc import Iterator

import mujoco
import numpy as np
import viser
from mjviser.conversions import group_geoms_by_visual_compat, merge_geoms
from numpy.typing import NDArray

from realworthy.reports.view.world import BodyPoses, World

Floats = NDArray[np.float64]
_DRAWN_GROUPS = 3
"""Groups of shapes from this on are for collisions, not for the eye."""
_GHOST_COLOUR = (30, 95, 215)
_GHOST_OPACITY = 0.45
_GOAL_COLOUR = (230, 70, 60)
_DIRECTION = np.array([0.9, -1.5, 0.6])
"""From the robot to the camera, at first."""
_ROOM, _ROOM_AROUND = 0.8, 1.3
"""Radius of the picture over that of a fixed robot, and of one that goes about."""
_FIELD = 40.0
"""[°] of the camera, from top to bottom."""


class RobotScene:
    """Floor, fixed things, one moving robot and, where there is one, its ghost."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._figures: list[_Figure] = []
        self._world: World | None = None
        self.follows = True
        """Whether a floating base is kept in the middle."""
        self.shows_ghost = True
        server.scene.configure_environment_map("studio", environment_intensity=0.6)
        self._root = server.scene.add_frame("/twin", show_axes=False)
        self._goal = server.scene.add_icosphere(
            "/twin/goal", radius=0.02, color=_GOAL_COLOUR, visible=False
        )

    def set(self, world: World, *, has_ghost: bool) -> None:
        """Builds the scene of a world; what was there before is taken away."""
        for figure in self._figures:
            figure.remove()
        self._world = world
        server, model = self._server, world.bound.model
        poses = world.poses()
        with server.atomic():
            self._figures = [_Figure(server, model, "/twin/robot", is_ghost=False)]
            if has_ghost:
                self._figures.append(
                    _Figure(server, model, "/twin/ghost", is_ghost=True)
                )
        self.show(poses, poses if has_ghost else None)
        self._aim(model, poses)

    def show(
        self, poses: BodyPoses, ghost: BodyPoses | None, goal: Floats | None = None
    ) -> None:
        """Moves everything to where it is now."""
        with self._server.atomic():
            self._root.position = -self._find_offset(poses)
            for figure, each in zip(self._figures, (poses, ghost), strict=False):
                if each is not None:
                    figure.move(each)
            for figure in self._figures[1:]:
                figure.set_visible(self.shows_ghost)
            self._goal.visible = goal is not None
            if goal is not None:
                self._goal.position = goal

    def _find_offset(self, poses: BodyPoses) -> Floats:
        """(3,) by which the scene is moved: along the ground, under the robot."""
        base = None if self._world is None else self._world.base
        if base is None or not self.follows:
            return np.zeros(3)
        return np.array([*poses.position[base, :2], 0.0])

    def _aim(self, model: mujoco.MjModel, poses: BodyPoses) -> None:
        """Puts new viewers' cameras where the whole robot is in the picture."""
        centre, radius = measure_extent(model, poses)
        centre = centre - self._find_offset(poses)
        is_floating = self._world is not None and self._world.base is not None
        room = _ROOM_AROUND if is_floating else _ROOM
        distance = room * radius / np.sin(np.radians(_FIELD / 2))
        camera = self._server.initial_camera
        camera.position = centre + distance * _DIRECTION / np.linalg.norm(_DIRECTION)
        camera.look_at = centre
        camera.fov = float(np.radians(_FIELD))
        camera.near = 0.01 * distance
        self._goal.radius = 0.02 * radius


class _Figure:
    """The bodies of one robot, each a frame with its shapes below it."""

    def __init__(
        self,
        server: viser.ViserServer,
        model: mujoco.MjModel,
        path: str,
        *,
        is_ghost: bool,
    ) -> None:
        scene = server.scene
        self._root = scene.add_frame(path, show_axes=False)
        self._frames: dict[int, viser.FrameHandle] = {}
        for body, geoms in _list_shapes(model):
            is_fixed = model.body_weldid[body] == 0
            if is_ghost and is_fixed:
                continue
            if body not in self._frames:
                self._frames[body] = scene.add_frame(f"{path}/{body}", show_axes=False)
            name = f"{path}/{body}/{geoms[0]}"
            mesh = merge_geoms(model, geoms)
            if is_ghost:
                scene.add_mesh_simple(
                    name,
                    np.asarray(mesh.vertices),
                    np.asarray(mesh.faces),
                    color=_GHOST_COLOUR,
                    opacity=_GHOST_OPACITY,
                    cast_shadow=False,
                    receive_shadow=False,
                )
            else:
                scene.add_mesh_trimesh(name, mesh, receive_shadow=False)
        if not is_ghost:
            _add_floors(server, model, path)

    def move(self, poses: BodyPoses) -> None:
        for body, frame in self._frames.items():
            frame.position = poses.position[body]
            frame.wxyz = poses.quaternion[body]

    def set_visible(self, is_visible: bool) -> None:
        self._root.visible = is_visible

    def remove(self) -> None:
        self._root.remove()


def measure_extent(model: mujoco.MjModel, poses: BodyPoses) -> tuple[Floats, float]:
    """Middle (3,) and radius [m] of a ball around all shapes but the floor.

    What moves may swing about its first joint, and should stay in the picture.
    """
    shapes = np.array([i for _, geoms in _list_shapes(model) for i in geoms], int)
    if not len(shapes):
        return np.zeros(3), 1.0
    body = model.geom_bodyid[shapes]
    turned = np.empty((len(shapes), 3))
    for k, i in enumerate(shapes):
        mujoco.mju_rotVecQuat(turned[k], model.geom_pos[i], poses.quaternion[body[k]])
    places, sizes = poses.position[body] + turned, model.geom_rbound[shapes][:, None]
    low, high = (places - sizes).min(axis=0), (places + sizes).max(axis=0)
    moving = model.body_weldid[body] != 0
    if moving.any() and model.nq == model.nv:  # nothing floats
        pivot = poses.position[model.body_weldid[body[moving]].min()]
        reach = np.linalg.norm(places[moving] - pivot, axis=1).max()
        low, high = np.minimum(low, pivot - reach), np.maximum(high, pivot + reach)
    return (low + high) / 2, float(np.linalg.norm(high - low) / 2)


def _list_shapes(model: mujoco.MjModel) -> Iterator[tuple[int, list[int]]]:
    """Bodies and shapes of theirs that can be drawn as one."""
    for body in range(model.nbody):
        first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
        seen = [i for i in range(first, first + count) if _is_drawn(model, i)]
        for geoms in group_geoms_by_visual_compat(model, seen):
            yield body, geoms


def _is_drawn(model: mujoco.MjModel, geom: int) -> bool:
    material = int(model.geom_matid[geom])
    rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
    is_plane = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE
    return model.geom_group[geom] < _DRAWN_GROUPS and rgba[3] > 0 and not is_plane


def _add_floors(server: viser.ViserServer, model: mujoco.MjModel, path: str) -> None:
    """Every plane as an endless grid."""
    planes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
    places = [(model.geom_pos[i], model.geom_quat[i]) for i in planes]
    for k, (position, quaternion) in enumerate(places):
        server.scene.add_grid(
            f"{path}/floor{k}",
            infinite_grid=True,
            cell_size=0.1,
            section_size=1.0,
            cell_color=(222, 226, 232),
            section_color=(186, 193, 203),
            fade_distance=25.0,
            plane_color=(246, 248, 250),
            plane_opacity=1.0,
            shadow_opacity=0.15,
            position=position,
            wxyz=quaternion,
        )
