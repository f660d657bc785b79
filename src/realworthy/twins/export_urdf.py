"""Numbers of a twin in the URDF that it came from, by comments and attributes."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import mujoco
import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import read_bytes
from realworthy.parameters import Parameter

_INERTIAL = ("mass", "centre_of_mass", "inertia")
_DYNAMICS = {"damping": "damping", "coulomb_friction": "friction"}


def write_urdf(
    source: Path, model: mujoco.MjModel, changes: Sequence[tuple[Parameter, str]]
) -> tuple[str, set[str]]:
    """The text of a URDF with the numbers of a model, and the parameters that it holds.

    Links that are fused with others, over joints that do not move, keep theirs: their
    inertia cannot be divided again.
    """
    builder = ElementTree.TreeBuilder(insert_comments=True)
    root = ElementTree.fromstring(
        read_bytes(source), ElementTree.XMLParser(target=builder)
    )
    links = {link.get("name", ""): link for link in root.iter("link")}
    joints = {joint.get("name", ""): joint for joint in root.iter("joint")}
    fused = _find_fused(root, links)
    held: set[str] = set()
    for parameter, said in changes:
        for element in parameter.binding.elements:
            edit = _choose_edit(parameter.kind, element, links, joints, fused, model)
            if edit is None:
                continue
            owner = links.get(element) if element in links else joints[element]
            assert owner is not None
            edit()
            owner.insert(0, _make_comment(said, owner))
            held.add(parameter.name)
    return ElementTree.tostring(root, encoding="unicode") + "\n", held


def _choose_edit(
    kind: str,
    element: str,
    links: dict[str, ElementTree.Element],
    joints: dict[str, ElementTree.Element],
    fused: set[str],
    model: mujoco.MjModel,
) -> Callable[[], None] | None:
    """What writes a quantity of an element; None where a URDF has no place for it."""
    if kind in _INERTIAL and element in links and element not in fused:
        return lambda: _write_inertial(links[element], model, element)
    if kind in _DYNAMICS and element in joints:
        dof = int(model.joint(element).dofadr[0])
        values = {
            "damping": model.dof_damping,
            "coulomb_friction": model.dof_frictionloss,
        }
        return lambda: _set(
            joints[element], "dynamics", _DYNAMICS[kind], float(values[kind][dof])
        )
    if kind == "torque_limit" and element in joints:
        limit = float(model.actuator(element).forcerange[1])
        return lambda: _set(joints[element], "limit", "effort", limit)
    return None


def _write_inertial(
    link: ElementTree.Element, model: mujoco.MjModel, name: str
) -> None:
    body = model.body(name)
    inertial = _find(link, "inertial")
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, np.asarray(body.iquat, dtype=np.float64))
    axes = rotation.reshape(3, 3)
    matrix = axes @ np.diag(body.inertia) @ axes.T  # R diag(I) Rᵀ, in the link's axes
    origin = _find(inertial, "origin")
    origin.set("xyz", _write(body.ipos))
    origin.set("rpy", "0 0 0")
    _find(inertial, "mass").set("value", f"{float(body.mass[0]):.9g}")
    inertia = _find(inertial, "inertia")
    for i, first in enumerate("xyz"):
        for j, second in enumerate("xyz"):
            if j >= i:
                inertia.set(f"i{first}{second}", f"{matrix[i, j]:.9g}")


def _find_fused(
    root: ElementTree.Element, links: dict[str, ElementTree.Element]
) -> set[str]:
    """Links to which a joint that does not move fixes a mass."""
    fused = set()
    for joint in root.iter("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        if joint.get("type") != "fixed" or parent is None or child is None:
            continue
        below = links.get(child.get("link", ""))
        if below is not None and below.find("inertial") is not None:
            fused |= {parent.get("link", ""), child.get("link", "")}
    return fused


def _set(owner: ElementTree.Element, tag: str, attribute: str, value: float) -> None:
    _find(owner, tag).set(attribute, f"{value:.9g}")


def _find(owner: ElementTree.Element, tag: str) -> ElementTree.Element:
    """The part of that name, made where it is missing."""
    found = owner.find(tag)
    return ElementTree.SubElement(owner, tag) if found is None else found


def _write(values: NDArray[np.float64]) -> str:
    return " ".join(f"{float(value):.9g}" for value in values)


def _make_comment(said: str, owner: ElementTree.Element) -> ElementTree.Element:
    comment = ElementTree.Comment(f" {said.replace('--', '- -')} ")
    comment.tail = owner.text if owner.text and not owner.text.strip() else "\n"
    return cast("ElementTree.Element", comment)  # its tag is a function
