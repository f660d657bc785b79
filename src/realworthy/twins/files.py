"""How twins are found and written: `load_twin`, `save_twin`, `*.twin.yaml`."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import msgspec

from realworthy import artefacts
from realworthy.actuators import Actuator, MotorNetwork
from realworthy.artefacts.numbers import Finite
from realworthy.errors import (
    BadBelief,
    BadFile,
    BadModel,
    MissingFile,
    RealworthyError,
    UnknownName,
    find_nearest,
)
from realworthy.parameters.belief_files import BeliefText
from realworthy.robots.roles import RoleChoices
from realworthy.twins.drives.networks import load_network
from realworthy.twins.inspection import Datasheet
from realworthy.twins.model_sources import (
    BUILTIN_FOLDER,
    MENAGERIE_PREFIX,
    MODEL_SUFFIXES,
    builtin_names,
    load_spec,
)
from realworthy.twins.twin import ParameterText, Provenance, Twin
from realworthy.twins.urdf import read_datasheet

SCHEMA = 1
SUFFIX = ".twin.yaml"


class TwinFile(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`*.twin.yaml`."""

    schema: int
    name: str
    model: str
    """A built-in twin's name, `menagerie:<robot>`, or a path relative to this file."""
    description: str = ""
    sources: list[str] = []
    """Where the model's numbers come from."""
    actuators: dict[str, Actuator] = {}
    """Drives that replace the model's own actuators of the same joints."""
    networks: dict[str, str] = {}
    """Drives that were learned: name → `*.drive.yaml`, relative to this file. The
    network acts within its envelope, the file's physical drive elsewhere."""
    base: str = ""
    """`free` lets go a robot that the model fixes to the world, such as a URDF's;
    `world` or a body's name where the rule of `twins/floating_base.py` errs."""
    table: Finite | None = None
    """Height [m] of a smooth, level surface under the robot that its model lacks."""
    datasheet: dict[str, Datasheet] = {}
    """What vendors state, by joint; `inspect` compares."""
    parameters: dict[str, ParameterText] = {}
    """Values and bounds that differ from the model's, by parameter name."""
    belief: BeliefText | None = None
    """What a calibration left; without one, moderate ranges around the nominals."""
    provenance: Provenance | None = None
    roles: RoleChoices = RoleChoices()
    """Parts for tasks, where those proposed are not the ones meant: `realworthy show
    tasks --twin`."""
    residual: str = ""
    """A learned force that was fitted on this twin: a `*.residual.yaml`, relative to
    this file."""


def load_twin(reference: Twin | str | Path, *, base: str = "") -> Twin:
    """A built-in name, an MJCF or URDF file, `menagerie:<robot>` or a `*.twin.yaml`.

    A twin that is loaded already is handed back: whatever takes a twin takes all of
    these. `base` chooses what floats, as in a twin file: `free`, `world` or a body's
    name.
    """
    twin = reference if isinstance(reference, Twin) else _load(reference)
    return twin.with_base(base) if base else twin


def _load(reference: str | Path) -> Twin:
    text, path = str(reference), Path(reference)
    if text.startswith(MENAGERIE_PREFIX):
        robot = text.removeprefix(MENAGERIE_PREFIX)
        spec = load_spec(text, Path())
        return Twin(name=robot, base_spec=spec, model=text, reference=text)
    if text in builtin_names():
        twin = _from_file(BUILTIN_FOLDER / (text + SUFFIX))
        return replace(twin, model=text, reference=text)
    if path.name.endswith(SUFFIX):
        return replace(_from_file(path), reference=text)
    if path.suffix.lower() in MODEL_SUFFIXES:
        spec = load_spec(path.name, path.parent)
        return Twin(
            name=path.stem,
            base_spec=spec,
            model=path.name,
            folder=path.parent,
            reference=text,
            datasheet=read_datasheet(path),
        )
    if os.path.exists(path):
        raise RealworthyError(
            f"'{text}' is not a twin.",
            hint=f"A twin is an .xml (MJCF) or .urdf file, or a *{SUFFIX}.",
        )
    if path.suffix or path.name != text:
        raise MissingFile(path)
    raise UnknownName(
        "twin",
        text,
        builtin_names(),
        owner="Realworthy",
        hint=f"{suggest_robot(text)} Or give an .xml, .urdf or *{SUFFIX} file.".strip(),
    )


def parse_twin(mjcf: str, *, name: str) -> Twin:
    """A twin from the text of an MJCF model; no file holds it.

    Meshes and other files that it names are not looked for.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.xml")
        path.write_text(mjcf, encoding="utf-8")
        try:
            return Twin(
                name=name, base_spec=load_spec(path.name, path.parent), model=""
            )
        except BadModel as error:
            problem = error.problem.replace(str(path), f"The model of twin '{name}'")
            raise BadModel(problem, hint=error.hint) from None


def save_twin(twin: Twin, path: Path | str, *, overwrite: bool = False) -> None:
    """Writes `*.twin.yaml`; the model file stays where it is, named relative to it."""
    path = Path(path)
    if not path.name.endswith(SUFFIX):
        raise RealworthyError(
            f"A twin's file name ends in {SUFFIX}, not '{path.name}'.",
            hint=f"Try: {path.name.partition('.')[0]}{SUFFIX}",
        )
    if not twin.model:
        raise RealworthyError(
            f"The model of {twin.owner} was edited, and no file holds it.",
            hint="Write twin.spec().to_xml() to a file, and load the twin from it.",
        )
    file = TwinFile(
        schema=SCHEMA,
        name=twin.name,
        model=_move_model(twin, path),
        description=twin.description,
        sources=list(twin.sources),
        actuators={
            name: _move(actuator, twin, path)
            for name, actuator in twin.actuators.items()
            if not _is_learned(twin, name)
        },
        networks={
            name: _relate(network.path, path.parent)
            for name, network in twin.networks.items()
        },
        base=twin.base_choice,
        table=twin.table,
        datasheet=dict(twin.datasheet),
        parameters=dict(twin.parameters),
        belief=twin.belief_text,
        provenance=twin.provenance,
        roles=twin.role_choices,
        residual=_relate(twin.folder / twin.residual_file, path.parent)
        if twin.residual
        else "",
    )
    _check_residual(twin)
    artefacts.save(path, file, overwrite=overwrite)


def _from_file(path: Path) -> Twin:
    file = artefacts.load(path, TwinFile, schema=SCHEMA)
    base = load_twin(file.model) if file.model in builtin_names() else None
    try:
        spec = base.base_spec if base else load_spec(file.model, path.parent)
    except MissingFile as error:
        problem = f"its model '{file.model}' is not there."
        raise BadFile(path, problem, hint=error.hint) from None
    stated = base.datasheet if base else read_datasheet(path.parent / file.model)
    read = {d: load_network(path.parent / d) for d in {*file.networks.values()}}
    networks = {name: read[drive] for name, drive in file.networks.items()}
    physical = {name: network.file.physical for name, network in networks.items()}
    is_name = base is not None or file.model.startswith(MENAGERIE_PREFIX)
    twin = Twin(
        name=file.name,
        base_spec=spec,
        model=file.model,
        folder=path.parent,
        reference=file.model if is_name else str(path.parent / file.model),
        description=file.description,
        sources=tuple(file.sources),
        actuators={
            **(base.actuators if base else {}),
            **physical,
            **file.actuators,
        },
        networks=networks,
        base_choice=base.base_choice if base else "",
        table=base.table if base and file.table is None else file.table,
        datasheet={**stated, **file.datasheet},
        parameters={**(base.parameters if base else {}), **file.parameters},
        belief_text=file.belief,
        provenance=file.provenance,
        role_choices=base.role_choices.merge(file.roles) if base else file.roles,
    )
    return replace(_check(twin, file, path), reference=str(path))


def _check(twin: Twin, file: TwinFile, path: Path) -> Twin:
    """On its base; what cannot be is refused here, what can waits until it is asked."""
    drives: dict[str, str] = {}
    named = {*file.networks, *file.actuators}
    for name, actuator in twin.actuators.items():
        if name not in named:
            continue
        other = drives.setdefault(actuator.joint, name)
        if other != name:
            raise BadFile(
                path,
                f"actuators '{other}' and '{name}' both drive joint "
                f"'{actuator.joint}'.",
                hint="Keep one of them.",
            )
    try:
        if file.base:
            twin = twin.with_base(file.base)
        told = file.parameters or file.actuators or file.networks
        if told or file.table is not None:
            _ = twin.compiled
        if file.belief is not None:
            _ = twin.belief
        if file.residual:
            twin = twin.with_residual(path.parent / file.residual)
    except (BadFile, UnknownName):
        raise
    except BadBelief as error:
        raise BadBelief(f"{path}: {error.problem}", hint=error.hint) from None
    except RealworthyError as error:
        raise BadFile(path, error.problem, hint=error.hint) from None
    return twin


def _check_residual(twin: Twin) -> None:
    """Raises where a twin's numbers have changed since its residual was fitted."""
    residual = twin.residual
    if residual and residual.description.fingerprint != twin.fingerprint:
        raise RealworthyError(
            f"The residual of {twin.owner} was fitted before its numbers changed.",
            hint="Save twin.without_residual(), and fit a residual on that.",
        )


def suggest_robot(name: str) -> str:
    """A sentence on the robot of Menagerie that may have been meant; else empty."""
    import mujoco_menagerie

    nearest = find_nearest(name, mujoco_menagerie.names())
    return f"In Menagerie: '{MENAGERIE_PREFIX}{nearest[0]}'." if nearest else ""


def _move_model(twin: Twin, path: Path) -> str:
    if twin.model.startswith(MENAGERIE_PREFIX) or twin.model in builtin_names():
        return twin.model
    return _relate(twin.folder / twin.model, path.parent)


def _move(actuator: Actuator, twin: Twin, path: Path) -> Actuator:
    """The drive as a twin file at `path` names it, its network's file included."""
    motor = actuator.motor
    if not isinstance(motor, MotorNetwork) or os.path.isabs(motor.file):
        return actuator
    moved = _relate(twin.folder / motor.file, path.parent)
    motor = msgspec.structs.replace(motor, file=moved)
    return msgspec.structs.replace(actuator, motor=motor)


def _is_learned(twin: Twin, name: str) -> bool:
    """Whether a drive file says what an actuator is, so that a twin file need not."""
    network = twin.networks.get(name)
    return network is not None and network.file.physical == twin.actuators[name]


def _relate(file: Path, folder: Path) -> str:
    """`file` as seen from `folder`; a link to a file stays a link."""
    return Path(
        os.path.relpath(file.parent.resolve(), folder.resolve()), file.name
    ).as_posix()
