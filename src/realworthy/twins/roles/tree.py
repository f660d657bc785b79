"""A robot's links at home: what hangs on what, what is driven, where shapes are."""

from collections.abc import Iterator

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.errors import UnknownName
from realworthy.twins.compiled_model import find_object_bodies
from realworthy.twins.twin import Twin

Floats = NDArray[np.float64]
_JOINT, _GEOM, _OBJ = mujoco.mjtJoint, mujoco.mjtGeom, mujoco.mjtObj
_SIMPLE = (_JOINT.mjJNT_HINGE, _JOINT.mjJNT_SLIDE)
_AXES = np.vstack([np.eye(3), -np.eye(3)])


class KinematicTree:
    """A link is a body that hinges or slides move; bodies welded to it belong to it.

    Objects are left out. Bodies, joints and shapes are numbers of the compiled model.
    """

    def __init__(self, twin: Twin) -> None:
        compiled = twin.compiled
        self.owner, self.model = twin.owner, compiled.model
        self.home: Floats = compiled.own["own.initial_qpos"]
        self.data = mujoco.MjData(self.model)
        self.place(self.home)
        base = twin.base
        self.base = 0 if base is None else int(self.model.body(base.body).id)
        """The floating body; 0, the world, for a robot that is fixed."""
        objects = find_object_bodies(compiled)
        self.links = [
            body
            for body in range(1, self.model.nbody)
            if self.list_joints(body) and self.model.body(body).name not in objects
        ]
        self.parents = {link: self.find_parent(link) for link in self.links}
        """Link → the link, base or world that carries it."""
        self.driven = {*self._find_driven(), *self._find_ids(twin)}
        """Joints that an actuator or a described drive moves, coupled ones too."""

    @property
    def frame(self) -> Floats:
        """Rotation from the base's axes, ahead, left and up, to the world's."""
        return self.data.xmat[self.base].reshape(3, 3)

    def place(self, pose: Floats) -> None:
        """Moves the links to a pose; `place(home)` brings them back."""
        self.data.qpos[:] = pose
        mujoco.mj_kinematics(self.model, self.data)

    def list_joints(self, body: int) -> list[int]:
        """Hinges and slides of a body."""
        first, count = self.model.body_jntadr[body], self.model.body_jntnum[body]
        every = range(int(first), int(first) + int(count))
        return [j for j in every if int(self.model.jnt_type[j]) in _SIMPLE]

    def find_parent(self, body: int) -> int:
        """The nearest body before it that is a link, the base or the world."""
        body = int(self.model.body_parentid[body])
        while body not in (0, self.base) and not self.list_joints(body):
            body = int(self.model.body_parentid[body])
        return body

    def list_children(self, link: int) -> list[int]:
        return [child for child, parent in self.parents.items() if parent == link]

    def list_beyond(self, link: int) -> list[int]:
        """The links that a link carries, near ones first."""
        beyond: list[int] = []
        for child in self.list_children(link):
            beyond += [child, *self.list_beyond(child)]
        return beyond

    def list_chain(self, body: int) -> list[int]:
        """The links from base or world to a body, its own included."""
        if not self.list_joints(body) and body not in (0, self.base):
            body = self.find_parent(body)
        chain = []
        while body not in (0, self.base):
            chain.append(body)
            body = self.find_parent(body)
        return chain[::-1]

    def list_welded(self, link: int) -> list[int]:
        """The link and the bodies fixed to it."""
        return np.flatnonzero(self.model.body_weldid == link).tolist()

    def name_body(self, body: int) -> str:
        return self.model.body(body).name

    def name_joints(self, links: list[int]) -> tuple[str, ...]:
        """Names of the joints of links, in order."""
        every = (joint for link in links for joint in self.list_joints(link))
        return tuple(self.model.joint(joint).name for joint in every)

    def find_anchor(self, joint: int) -> Floats:
        """(3,) [m] of a joint in the world."""
        body = int(self.model.jnt_bodyid[joint])
        turn = self.data.xmat[body].reshape(3, 3)
        return self.data.xpos[body] + turn @ self.model.jnt_pos[joint]

    def find_axis(self, joint: int) -> Floats:
        """(3,) direction of a joint's axis in the world."""
        body = int(self.model.jnt_bodyid[joint])
        return self.data.xmat[body].reshape(3, 3) @ self.model.jnt_axis[joint]

    def list_shapes(self, link: int, *, touching: bool) -> list[int]:
        """Shapes of a link; all where `touching` is false or none of them can."""
        every = np.flatnonzero(np.isin(self.model.geom_bodyid, self.list_welded(link)))
        able = [shape for shape in every.tolist() if self._can_touch(shape)]
        return able if touching or able else every.tolist()

    def find_body(self, name: str, role: str) -> int:
        """The body of a named site, shape or body."""
        kind, number = self.locate(name, role)
        if kind == "site":
            return int(self.model.site_bodyid[number])
        return int(self.model.geom_bodyid[number]) if kind == "shape" else number

    def list_points(self, shapes: list[int]) -> Floats:
        """(n, 3) [m] on shapes' surfaces in the world; their corners are among them."""
        parts = [self._list_points(shape) for shape in shapes]
        return np.concatenate([*parts, np.empty((0, 3))])

    def locate(self, name: str, role: str) -> tuple[str, int]:
        """Kind and number of a named site, shape or body; raises for another name."""
        kinds = {"site": _OBJ.mjOBJ_SITE, "shape": _OBJ.mjOBJ_GEOM}
        for kind, number in (*kinds.items(), ("body", _OBJ.mjOBJ_BODY)):
            index = mujoco.mj_name2id(self.model, number, name)
            if index >= 0:
                return kind, index
        raise UnknownName(
            f"site, shape or body for the role '{role}' called",
            name,
            tuple(self._list_names()),
            owner=self.owner,
            hint="",
        )

    def _list_names(self) -> Iterator[str]:
        model = self.model
        counts = ((model.site, model.nsite), (model.geom, model.ngeom))
        for get, count in (*counts, (model.body, model.nbody)):
            yield from (name for i in range(count) if (name := get(i).name))

    def _can_touch(self, shape: int) -> bool:
        model = self.model
        in_pair = shape in (*model.pair_geom1.tolist(), *model.pair_geom2.tolist())
        bits = model.geom_contype[shape] | model.geom_conaffinity[shape]
        return bool(bits) or in_pair

    def _list_points(self, shape: int) -> Floats:
        model, kind = self.model, int(self.model.geom_type[shape])
        size = model.geom_size[shape]
        if kind == _GEOM.mjGEOM_MESH:
            mesh = int(model.geom_dataid[shape])
            first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
            points = model.mesh_vert[first : first + count].astype(np.float64)
        elif kind == _GEOM.mjGEOM_BOX:
            corners = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T
            points = corners * size
        elif kind == _GEOM.mjGEOM_CAPSULE:
            ends = np.array([[0, 0, size[1]], [0, 0, -size[1]]])
            points = (ends[:, None] + size[0] * _AXES).reshape(-1, 3)
        elif kind == _GEOM.mjGEOM_CYLINDER:
            turn = np.linspace(0, 2 * np.pi, 16, endpoint=False)
            ring = size[0] * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
            points = np.concatenate(
                [ring + z * _AXES[2] for z in size[1] * np.array([1, -1])]
            )
        elif kind in (_GEOM.mjGEOM_SPHERE, _GEOM.mjGEOM_ELLIPSOID):
            radii = size if kind == _GEOM.mjGEOM_ELLIPSOID else size[[0, 0, 0]]
            points = _AXES * radii
        else:
            points = np.empty((0, 3))
        turn = self.data.geom_xmat[shape].reshape(3, 3)
        if kind == _GEOM.mjGEOM_SPHERE:
            turn = np.eye(3)  # so that its lowest point is among them
        return points @ turn.T + self.data.geom_xpos[shape]

    def _find_driven(self) -> set[int]:
        model, trn = self.model, mujoco.mjtTrn
        driven: set[int] = set()
        for i in range(model.nactuator):
            kind, target = (
                int(model.actuator_trntype[i]),
                int(model.actuator_trnid[i, 0]),
            )
            if kind in (trn.mjTRN_JOINT, trn.mjTRN_JOINTINPARENT):
                driven.add(target)
            elif kind == trn.mjTRN_TENDON:
                first = int(model.tendon_adr[target])
                for k in range(first, first + int(model.tendon_num[target])):
                    if model.wrap_type[k] == mujoco.mjtWrap.mjWRAP_JOINT:
                        driven.add(int(model.wrap_objid[k]))
        coupled = model.eq_type == mujoco.mjtEq.mjEQ_JOINT
        for i in np.flatnonzero(coupled).tolist():
            pair = {int(model.eq_obj1id[i]), int(model.eq_obj2id[i])}
            if pair & driven:
                driven |= {joint for joint in pair if joint >= 0}
        return driven

    def _find_ids(self, twin: Twin) -> set[int]:
        names = (actuator.joint for actuator in twin.actuators.values())
        return {int(self.model.joint(name).id) for name in names}
