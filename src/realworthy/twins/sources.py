"""Where a model comes from: a built-in name, MJCF, URDF, or MuJoCo Menagerie."""

from pathlib import Path

import mujoco

from realworthy.errors import BadModel, RealworthyError, UnknownName

BUILTIN_FOLDER = Path(__file__).parent / "builtin"
MENAGERIE_PREFIX = "menagerie:"


def builtin_names() -> tuple[str, ...]:
    """Twins that come with Realworthy."""
    suffix = ".twin.yaml"
    paths = BUILTIN_FOLDER.glob("*" + suffix)
    return tuple(sorted(path.name.removesuffix(suffix) for path in paths))


def load_spec(reference: str, folder: Path) -> mujoco.MjSpec:
    """The model behind `menagerie:<robot>[/<entry>]` or a path relative to `folder`."""
    if reference.startswith(MENAGERIE_PREFIX):
        path = menagerie_path(reference.removeprefix(MENAGERIE_PREFIX))
    else:
        path = folder / reference
    return read_spec(path)


def read_spec(path: Path) -> mujoco.MjSpec:
    """A parsed MJCF or URDF file, every joint, body and actuator with a name."""
    if not path.is_file():
        raise BadModel(
            f"There is no model file {path}.",
            hint="Give an .xml (MJCF) or .urdf file, a built-in twin's name, or "
            "menagerie:<robot>.",
        )
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except (ValueError, mujoco.FatalError) as error:
        raise BadModel(
            f"MuJoCo cannot read {path}: {_one_line(error)}",
            hint="Mend the file; MuJoCo's message names the place.",
        ) from None
    _give_names(spec)
    if path.suffix.lower() == ".urdf":
        _add_motors(spec)
    return spec


def compile_spec(spec: mujoco.MjSpec, name: str) -> mujoco.MjModel:
    """The compiled model; MuJoCo's refusal becomes a `BadModel`."""
    try:
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise BadModel(
            f"MuJoCo rejects the model of twin '{name}': {_one_line(error)}",
            hint="Mend the model; realworthy show FILE checks it again.",
        ) from None


def menagerie_path(name: str) -> Path:
    """A Menagerie robot's file: its scene, or the entry after a slash.

    Looks under the folder MENAGERIE_ROOT where that is set, else in the package's
    cache, which it fills on first use.
    """
    import mujoco_menagerie

    robot_name, _, entry = name.partition("/")
    try:
        robot = mujoco_menagerie.get(robot_name)
        return Path(robot.xml(entry or None))
    except mujoco_menagerie.UnknownRobotError:
        names = mujoco_menagerie.names()
        hint = "All: realworthy show twins"
        raise UnknownName(
            "robot", robot_name, names, owner="MuJoCo Menagerie", hint=hint
        ) from None
    except mujoco_menagerie.UnknownEntryPointError:
        entries = mujoco_menagerie.get(robot_name).entry_names
        raise UnknownName("entry", entry, entries, owner=robot_name, hint="") from None
    except (mujoco_menagerie.MenagerieError, OSError) as error:
        raise RealworthyError(
            f"Menagerie robot '{robot_name}' is not at hand: {_one_line(error)}",
            hint="Set MENAGERIE_ROOT to a copy of mujoco_menagerie, or go online once.",
        ) from None


def _give_names(spec: mujoco.MjSpec) -> None:
    """Names for the nameless, so that every quantity can be spoken of."""
    for i, body in enumerate(spec.bodies):
        if not body.name:
            body.name = f"body{i}"
    for body in spec.bodies:
        unnamed = [joint for joint in body.joints if not joint.name]
        for i, joint in enumerate(unnamed):
            joint.name = f"{body.name}_joint" + (str(i) if len(unnamed) > 1 else "")
    taken = {actuator.name for actuator in spec.actuators if actuator.name}
    for i, actuator in enumerate(spec.actuators):
        if not actuator.name:
            wanted = actuator.target or f"actuator{i}"
            actuator.name = wanted if wanted not in taken else f"{wanted}_{i}"
            taken.add(actuator.name)


def _add_motors(spec: mujoco.MjSpec) -> None:
    """A URDF has joints with effort limits but no actuators: one motor for each."""
    if spec.actuators:
        return
    moving = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    for joint in spec.joints:
        if joint.type not in moving:
            continue
        low, high = joint.actfrcrange
        actuator = spec.add_actuator(name=joint.name, target=joint.name)
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        if low < high:
            actuator.ctrlrange = [low, high]
            actuator.ctrllimited = True
            actuator.forcerange = [low, high]
            actuator.forcelimited = True


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
