"""A twin as a model file that other programs read: MJCF, or the URDF it came from.

MuJoCo's own numbers go into the file, each changed one with a comment. What a format
has no place for is listed: laws of drives that MuJoCo lacks, errors of sensors, learned
forces; of a URDF also gains, delays and armatures.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from realworthy import artefacts
from realworthy.errors import RealworthyError
from realworthy.parameters import Parameter
from realworthy.twins.bind import compile_with_spec
from realworthy.twins.compiled_model import OWN_PREFIX, CompiledModel
from realworthy.twins.export_urdf import write_urdf
from realworthy.twins.space import writer_of
from realworthy.twins.twin import Twin

FORMATS = (".xml", ".urdf")
_TAGS = {
    "body": r"<body ",
    "joint": r"<(?:joint|freejoint) ",
    "actuator": r"<(?:general|motor|position|velocity|pid|dcmotor|\w*servo\w*) ",
    "geom": r"<geom ",
}
_GROUP_TAG = {
    "inertial": "body",
    "object": "body",
    "joint": "joint",
    "actuator": "actuator",
    "delay": "actuator",
    "contact": "geom",
}
"""Where a quantity of a group is looked for in the text of a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelExport:
    """A model that was written, what changed in it, and what it cannot hold."""

    path: Path
    changed: tuple[str, ...]
    """A sentence for each number, as the comment in the file says it."""
    left_out: tuple[str, ...]
    """What the twin has and the file has not."""


def check_export(twin: Twin, path: Path | str, *, overwrite: bool = False) -> None:
    """Raises where a twin cannot be written there."""
    path = Path(path)
    if path.suffix not in FORMATS:
        raise RealworthyError(
            f"A twin is exported as {' or '.join(FORMATS)}, not as '{path.name}'.",
            hint=f"Try: {path.stem}.xml",
        )
    if path.suffix == ".urdf" and not twin.model.endswith(".urdf"):
        raise RealworthyError(
            f"{twin.owner} comes from an MJCF model, which no URDF can hold.",
            hint=f"Try: {path.with_suffix('.xml')}",
        )
    artefacts.check_free(path, overwrite=overwrite)


def export_model(
    twin: Twin, path: Path | str, *, before: Twin, overwrite: bool = False
) -> ModelExport:
    """Writes `twin` as MJCF or URDF; `before` is the twin whose numbers it had.

    Meshes and textures of an MJCF are copied into a folder beside it, so that the file
    can be moved together with that folder.
    """
    path = Path(path)
    check_export(twin, path, overwrite=overwrite)
    compiled, drives, spec = compile_with_spec(twin)
    changes = list(_list_changes(twin, before))
    if path.suffix == ".urdf":
        source = twin.folder / twin.model
        text, held = write_urdf(source, compiled.model, changes)
    else:
        _take_values(spec, compiled.model, twin)
        folder = path.parent / f"{path.stem}_assets"
        text = _copy_assets(spec.to_xml(), spec, twin, folder)
        text = _comment(text, changes)
        held = {p.name for p, _ in changes if _is_native(compiled, p)}
    with artefacts.writing(path, overwrite=overwrite) as temporary:
        temporary.write_text(text, encoding="utf-8")
    left_out = [f"{said} (no place in this format)" for p, said in changes
                if p.name not in held]  # fmt: skip
    left_out += [
        f"{drive.name}: the law of its drive is not MuJoCo's; the file has a motor"
        for drive in drives
    ]
    if twin.residual is not None:
        left_out.append("the learned force of the twin")
    return ModelExport(
        path=path,
        changed=tuple(said for p, said in changes if p.name in held),
        left_out=tuple(left_out),
    )


def _list_changes(twin: Twin, before: Twin) -> Iterator[tuple[Parameter, str]]:
    """Parameters whose value is another one, each with a sentence."""
    sd = twin.belief.sd if twin.belief_text is not None else {}
    for name, text in twin.parameters.items():
        if text.value is None or name not in twin.space:
            continue
        parameter = twin.space[name]
        old = before.space[name].nominal if name in before.space else None
        if old is not None and np.isclose(old, text.value, rtol=1e-9, atol=0.0):
            continue
        unit = "" if parameter.unit == "1" else f" {parameter.unit}"
        spread = f" ± {sd[name]:.2g}" if name in sd else ""
        was = "" if old is None else f"{old:.4g} → "
        yield parameter, f"{name}: {was}{text.value:.5g}{spread}{unit}"


def _is_native(compiled: CompiledModel, parameter: Parameter) -> bool:
    """Whether MuJoCo itself has a field for a parameter."""
    fields = [
        field
        for element in parameter.binding.elements
        for field in writer_of(compiled, parameter.kind, element)
        .edit(compiled, element)
        .fields
    ]
    return not any(field.startswith(OWN_PREFIX) for field in fields)


def _take_values(spec: mujoco.MjSpec, model: mujoco.MjModel, twin: Twin) -> None:
    """Puts the numbers of a model into the spec that it was compiled from."""
    spec.copy_back(model)
    for i in range(model.nactuator):  # which `copy_back` leaves or computes again
        actuator = spec.actuator(model.actuator(i).name)
        actuator.delay = float(model.actuator_delay[i])
        actuator.gainprm = model.actuator_gainprm[i].copy()
        actuator.biasprm = model.actuator_biasprm[i].copy()
    own = {sensor.name for sensor in twin.base_spec.sensors}
    for sensor in list(spec.sensors):  # named like recorded signals, for ourselves
        if sensor.name not in own:
            spec.delete(sensor)


def _copy_assets(text: str, spec: mujoco.MjSpec, twin: Twin, folder: Path) -> str:
    """The text of a model that takes its files from `folder`, where they are copied."""
    home, copied = Path(spec.modelfiledir), False
    kinds = {
        "meshes": (spec.meshdir, (*spec.meshes, *spec.hfields)),
        "textures": (spec.texturedir, spec.textures),
    }
    for kind, (place, owners) in kinds.items():
        files = {owner.file for owner in owners if owner.file}
        if kind == "textures":
            files |= {side for owner in owners for side in owner.cubefiles if side}
        for file in sorted(files):
            tried = (home / place / file, home / file)
            source = next((path for path in tried if path.is_file()), None)
            if source is None:
                raise RealworthyError(
                    f"{twin.owner} names '{file}', which is not beside its model.",
                    hint=f"It was looked for under {home / place}.",
                )
            target = folder / kind / file.replace("..", "up")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            text = text.replace(f'"{file}"', f'"{file.replace("..", "up")}"')
            copied = True
    if not copied:
        return text
    found = re.search(r"<compiler\b[^>]*?(?=/?>)", text)
    head = "<compiler" if found is None else found[0]
    head = re.sub(r'\s(?:mesh|texture|asset)dir="[^"]*"', "", head)
    head += f' meshdir="{folder.name}/meshes" texturedir="{folder.name}/textures"'
    if found is not None:
        return text[: found.start()] + head + text[found.end() :]
    return re.sub(r"(<mujoco\b[^>]*>)", rf"\1\n  {head}/>", text, count=1)


def _comment(text: str, changes: Sequence[tuple[Parameter, str]]) -> str:
    """The text of a model with a comment above each element that changed."""
    lines = text.splitlines()
    above: dict[int, list[str]] = {}
    for parameter, said in changes:
        for i in _find_lines(lines, parameter):
            above.setdefault(i, []).append(said)
    result = []
    for i, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        said = [words.replace("--", "- -") for words in above.get(i, ())]
        result += [f"{indent}<!-- {words} -->" for words in said]
        result.append(line)
    return "\n".join(result) + "\n"


def _find_lines(lines: Sequence[str], parameter: Parameter) -> list[int]:
    """Lines where a parameter's elements begin; the first line where there is none."""
    from realworthy.twins.writers import WRITERS

    writer = WRITERS.get(parameter.kind)
    tag = _TAGS.get(_GROUP_TAG.get(writer.group, "") if writer else "", r"<\w+ ")
    elements = parameter.binding.elements
    if len(elements) != 1:
        return [0]
    wanted = re.compile(rf'\s*{tag}.*\bname="{re.escape(elements[0])}"')
    found = [i for i, line in enumerate(lines) if wanted.match(line)]
    return found[-1:] or [0]
