"""Which floating body is the robot's base, and which are objects beside it.

The rule: an actuator tells the robot. The tree of bodies that an actuator moves is the
robot's, so a free joint at its root is the robot's floating base; a floating body that
no actuator moves is an object, with joints or without. A model without any actuator
does not tell: then the first floating tree with joints of its own is taken, or the
first body where nothing but floating bodies is there. A twin file decides otherwise.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import mujoco

from realworthy.errors import RealworthyError, UnknownName
from realworthy.twins.keyframes import keep_keyframes

FREE, WORLD = "free", "world"
"""What a twin file may say of its base besides a body's name."""
_FREE_JOINT, _TRN = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtTrn


@dataclass(frozen=True, slots=True)
class FloatingBase:
    """The body of a robot that moves freely, and the free joint by which it does."""

    body: str
    joint: str


@dataclass(frozen=True, slots=True)
class Floating:
    """What of a model floats."""

    base: FloatingBase | None
    """None: the robot is fixed to the world."""
    objects: tuple[str, ...]
    """Bodies that float and are no part of a robot, in the model's order."""
    reason: str
    """Why this is the base, or why there is none; ends a sentence."""


def find_floating(
    spec: mujoco.MjSpec, driven_joints: Iterable[str], choice: str, *, owner: str
) -> Floating:
    """Base and objects of a model, by the rule or as a twin file chooses.

    `driven_joints` are moved by drives that the model does not hold.
    """
    free = {body.name: joint for body, joint in list_free_bodies(spec)}
    moved = {body.name for body in _list_moved_trees(spec, driven_joints)}
    driven = [name for name in free if name in moved]
    robots = driven if moved else _guess_robot(spec)
    if not free:
        reason = "no body has a free joint"
    elif not moved:
        reason = "a guess: the model has no actuators"
    elif len(driven) > 1:
        reason = f"the first of {len(driven)} floating trees that actuators move"
    else:
        reason = "actuators move it" if driven else "no actuator moves what floats"
    if choice and choice != FREE:
        if choice not in (WORLD, *free):
            hint = f"Or '{WORLD}' for a robot that is fixed."
            raise UnknownName("floating body", choice, free, owner=owner, hint=hint)
        robots, reason = [choice] * (choice != WORLD), "chosen for this twin"
    base = robots[0] if robots else None
    return Floating(
        FloatingBase(base, free[base].name) if base else None,
        tuple(name for name in free if name not in (base, *driven)),
        reason,
    )


def list_free_bodies(
    spec: mujoco.MjSpec,
) -> Iterator[tuple[mujoco.MjsBody, mujoco.MjsJoint]]:
    """Bodies with a free joint, and that joint, in the model's order."""
    for body in spec.bodies:
        for joint in body.joints:
            if joint.type == _FREE_JOINT:
                yield body, joint


def hang(spec: mujoco.MjSpec, base: FloatingBase) -> None:
    """Holds a floating base still, a metre above its home, out of the floor's reach."""
    model = spec.copy().compile()
    address = int(model.joint(base.joint).qposadr[0])
    home = (model.key_qpos[0] if model.nkey else model.qpos0)[address : address + 7]
    body = spec.body(base.body)
    with keep_keyframes(spec):
        body.pos = [home[0], home[1], home[2] + 1.0]
        body.quat = home[3:]
        spec.delete(spec.joint(base.joint))


def add_free_joint(spec: mujoco.MjSpec, *, owner: str) -> None:
    """Lets the robot go, which the model fixes to the world: the root of its joints."""
    roots = {_find_root(j.parent).name for j in spec.joints if j.type != _FREE_JOINT}
    tops = {body.name: body for body in spec.worldbody.bodies}
    names = [name for name in tops if name in roots] or list(tops)
    root = tops[names[0]] if len(names) == 1 else None
    if root is None or list(root.joints):
        raise RealworthyError(
            f"The base of {owner} cannot be let go: "
            + (
                f"{' and '.join(names) or 'no body'} carry joints."
                if root is None
                else f"{root.name} is joined to the world itself."
            ),
            hint="Give one body a free joint in the model.",
        )
    name, taken = f"{root.name}_joint", {joint.name for joint in spec.joints}
    while name in taken:
        name = f"{name}_free"
    with keep_keyframes(spec):
        root.add_freejoint(name=name)


def _guess_robot(spec: mujoco.MjSpec) -> list[str]:
    """The floating robot of a model without actuators, if there is one."""
    free = [body for body, _ in list_free_bodies(spec)]
    carriers = [body for body in free if list(body.bodies)]
    if not carriers and len(free) == len(list(spec.joints)):
        carriers = free
    return [body.name for body in carriers[:1]]


def _list_moved_trees(
    spec: mujoco.MjSpec, driven_joints: Iterable[str]
) -> Iterator[mujoco.MjsBody]:
    """Roots of the trees that actuators move; the world's own body where it is held."""
    for name in driven_joints:
        if joint := spec.joint(name):
            yield _find_root(joint.parent)
    for actuator in spec.actuators:
        for body in _list_bodies(spec, actuator):
            yield _find_root(body)


def _list_bodies(
    spec: mujoco.MjSpec, actuator: mujoco.MjsActuator
) -> Iterator[mujoco.MjsBody]:
    """Bodies at which an actuator acts."""
    kind, target = actuator.trntype, actuator.target
    if kind == _TRN.mjTRN_TENDON:
        if tendon := spec.tendon(target):
            for wrap in tendon.path:
                if wrap.target is not None and hasattr(wrap.target, "parent"):
                    yield wrap.target.parent
        return
    if kind == _TRN.mjTRN_BODY:
        if body := spec.body(target):
            yield body
        return
    on_site = kind in (_TRN.mjTRN_SITE, _TRN.mjTRN_SLIDERCRANK)
    for name in (target, actuator.slidersite if on_site else ""):
        if name and (found := spec.site(name) if on_site else spec.joint(name)):
            yield found.parent


def _find_root(body: mujoco.MjsBody) -> mujoco.MjsBody:
    """The body of its tree that is the world's child."""
    while body.parent is not None and body.parent.name != WORLD:
        body = body.parent
    return body
