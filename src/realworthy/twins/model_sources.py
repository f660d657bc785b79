"""Where a model comes from: a built-in name, MJCF, URDF, or MuJoCo Menagerie."""

import math
import re
from pathlib import Path

import mujoco

from realworthy.artefacts import COUNT, check_readable
from realworthy.errors import BadModel, RealworthyError, UnknownName
from realworthy.twins.model_demand import check_demand

BUILTIN_FOLDER = Path(__file__).parent / "builtin"
MENAGERIE_PREFIX = "menagerie:"
MODEL_SUFFIXES = (".xml", ".urdf")
_HINTS = {
    "mass and inertia of moving bodies": "Give it a mass: an <inertial>, or a shape "
    "with mass or density.",
    "opening file": "The model names a file that is not there; paths are relative to "
    "the model and its meshdir or texturedir.",
    "unknown exception": "A number in it may be too large for any memory.",
    "A + B >= C": 'Correct its inertia, or set compiler balanceinertia="true".',
}
"""What to try, by a part of MuJoCo's message."""
_COPIED = ("actuators", "sensors", "equalities", "tendons", "pairs", "excludes")
"""What MuJoCo leaves out of a copy, without a word, where a reference is wrong."""


def _keep_log_quiet() -> None:
    """MuJoCo logs to MUJOCO_LOG.TXT in the user's folder, and a line per bad world.

    Outcomes and errors say the same things; who wants the log sets it up after import.
    """
    config = mujoco.MjLogConfig.get()
    config.logto_file = config.logto_console = False
    config.set()


_keep_log_quiet()


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
    check_readable(path)
    if path.is_dir():
        raise BadModel(f"{path} is a folder, not a model.")
    if path.suffix not in MODEL_SUFFIXES:
        raise BadModel(
            f"{path} is not a model: MuJoCo reads .xml (MJCF) and .urdf files.",
            hint="Give it one of these endings, in small letters, if it is one.",
        )
    check_demand(path)
    spec = _parse(path)
    _check_names(spec, path)
    _give_names(spec)
    if path.suffix == ".urdf":
        _add_motors(spec)
    _check_references(spec, path.stem)
    return spec


def compile_spec(spec: mujoco.MjSpec, name: str) -> mujoco.MjModel:
    """The compiled model; MuJoCo's refusal becomes a `BadModel`."""
    try:
        model = spec.compile()
    except Exception as error:  # also of kinds that C++ throws and Python cannot name
        reason = _one_line(error)
        hint = "Correct the model; realworthy show FILE checks it again."
        raise BadModel(
            f"MuJoCo rejects the model of twin '{name}': {reason}",
            hint=next((h for part, h in _HINTS.items() if part in reason), hint),
        ) from None
    if not (model.opt.timestep > 0 and math.isfinite(model.opt.timestep)):
        raise BadModel(
            f"The time step of twin '{name}' is {model.opt.timestep:g} s.",
            hint='Set option timestep="0.002", or what the robot needs.',
        )
    COUNT.check(
        0.1 / model.opt.timestep, f"twin '{name}' takes too many steps in 0.1 s"
    )
    return model


def menagerie_path(name: str) -> Path:
    """A Menagerie robot's file: its scene, or the entry after a slash.

    Looks under the folder MENAGERIE_ROOT where that is set, else in the package's
    cache, which it fills on first use.
    """
    import mujoco_menagerie

    robot_name, _, entry = name.partition("/")
    owner, listing = "MuJoCo Menagerie", "realworthy show twins"
    names = mujoco_menagerie.names()
    if robot_name not in names:
        raise UnknownName("robot", robot_name, names, owner=owner, listing=listing)
    robot = mujoco_menagerie.get(robot_name)
    if entry and entry not in robot.entry_names:
        owner = f"Menagerie robot '{robot_name}'"
        raise UnknownName("entry", entry, robot.entry_names, owner=owner)
    try:
        path = Path(robot.xml(entry or None))
    except (mujoco_menagerie.MenagerieError, OSError) as error:
        raise RealworthyError(
            f"Menagerie robot '{robot_name}' is not at hand: {_one_line(error)}.",
            hint="Set MENAGERIE_ROOT to a copy of mujoco_menagerie, or go online once.",
        ) from None
    if not path.is_file():
        raise RealworthyError(
            f"Menagerie robot '{robot_name}' has no {path.name} in this copy "
            f"({path.parent}).",
            hint="Update the copy, or name another entry: "
            + ", ".join(e.name for e in robot.entry_points if _has(path, e.file)),
        )
    return path


def _has(path: Path, name: str) -> bool:
    return path.with_name(name).is_file()


def _parse(path: Path) -> mujoco.MjSpec:
    warned: list[str] = []
    listener = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warned.append)
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except Exception as error:  # also of kinds that C++ throws and Python cannot name
        reason = _one_line(error)
        hint = "Correct the file; MuJoCo's message names the place."
        raise BadModel(
            f"MuJoCo cannot read {path}: {reason}",
            hint=next((h for part, h in _HINTS.items() if part in reason), hint),
        ) from None
    finally:
        mujoco.set_mju_user_warning(listener)
    if any("NaN" in text for text in warned):
        raise BadModel(
            f"{path} holds a number that is NaN.", hint="Search the file for 'nan'."
        )
    return spec


def _check_names(spec: mujoco.MjSpec, path: Path) -> None:
    """`all.<kind>` stands for every element, so no element may be called so."""
    elements = (("body", spec.bodies), ("joint", spec.joints))
    for kind, entries in (*elements, ("actuator", spec.actuators)):
        if any(element.name == "all" for element in entries):
            raise BadModel(
                f"{path} has a {kind} called 'all', which stands for all of them.",
                hint=f"Give the {kind} another name.",
            )


def _check_references(spec: mujoco.MjSpec, name: str) -> None:
    """Lets MuJoCo speak up where a copy would silently lack an actuator or sensor."""
    copy = spec.copy()
    if any(len(getattr(spec, k)) != len(getattr(copy, k)) for k in _COPIED):
        compile_spec(spec, name)


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
    """MuJoCo's message without its line breaks, prefixes and numbers of its own."""
    line = " ".join(str(error).split())
    if parse := re.match(r"XML parse error.*Line number=(\d+)", line):
        return f"it is not XML (line {parse[1]})"
    line = re.sub(r"^(XML )?(Error: )+", "", line)
    line = re.sub(r" The static bodies of the spec were fused.*$", "", line)
    line = re.sub(r" Element name '', id \d+(, line (\d+))?$", r" (line \2)", line)
    line = re.sub(r" Element name ('.*'), id \d+(, line \d+)?$", r" (\1\2)", line)
    line = re.sub(r" Element ('.*'), line (\d+)$", r" (\1, line \2)", line)
    return line.replace(" (line )", "").removesuffix(".")
