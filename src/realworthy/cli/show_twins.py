"""`show twins`, `show TWIN`: which there are, what one is made of, what looks wrong."""

from collections.abc import Sequence

from rich.text import Text

from realworthy.cli.printing import (
    Cell,
    aligned,
    counted,
    emit,
    emit_heading,
    emit_note,
    emit_table,
    number,
    span,
)
from realworthy.cli.show_parameters import emit_belief
from realworthy.residuals import Residual
from realworthy.twins import (
    Inspection,
    ModelFinding,
    Twin,
    builtin_names,
    inspect,
    load_twin,
)

_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def show_twins() -> object:
    """Every built-in twin in a line, and the names of Menagerie."""
    import mujoco_menagerie

    twins = [load_twin(name) for name in builtin_names()]
    emit_table(
        "Built-in twins",
        ("name", "joints", "commands", "mass [kg]", ""),
        [(t.name, *_count(t), number(_weigh(t)), t.description) for t in twins],
    )
    robots: dict[str, list[str]] = {}
    for robot in mujoco_menagerie.robots():
        robots.setdefault(robot.category.replace("_", " "), []).append(robot.name)
    emit_table(
        "MuJoCo Menagerie (menagerie:NAME)",
        ("kind", "names"),
        [(kind, ", ".join(names)) for kind, names in sorted(robots.items())],
    )
    emit_note("Also an .xml (MJCF) or .urdf file, or a *.twin.yaml.")
    return {
        "twins": [{"name": t.name, "description": t.description} for t in twins],
        "menagerie": mujoco_menagerie.names(),
    }


def show_twin(reference: str, against: str = "", base: str = "") -> object:
    """Inspection of one twin: what it is made of, and what looks wrong.

    `against` is another file of the same robot, such as its URDF.
    """
    twin = load_twin(reference, base=base)
    others = {against: load_twin(against).compiled.model} if against else {}
    found = inspect(twin.compiled.model, twin.datasheet, others)
    belief = twin.belief if twin.belief_text is not None else None
    result = {
        "name": twin.name,
        "base": twin.base,
        "objects": twin.objects,
        "networks": {n: str(x.path) for n, x in twin.networks.items()},
        "residual": twin.residual and twin.residual.description,
        "inspection": found,
        "parameters": twin.space.names,
    }
    emit_heading(twin.name, twin.description)
    emit(Text(_summarise(twin, found)))
    emit(Text(_describe_floating(twin)))
    if twin.networks:
        emit(Text(f"Learned drives: {', '.join(twin.networks)}."))
    if twin.residual is not None:
        emit(Text(_describe_residual(twin.residual)))
    emit_note(f"{counted(len(twin.space), 'parameter')}: {twin.listing}\n")
    _emit_findings(found.findings)
    _emit_bodies(found)
    _emit_joints(found)
    _emit_actuators(found)
    if belief is not None:
        emit_belief(belief)
    return result


def _count(twin: Twin) -> tuple[int, int]:
    model = twin.compiled.model
    return int(model.njnt), int(model.nu)


def _weigh(twin: Twin) -> float:
    return float(twin.compiled.model.body_mass.sum())


def _summarise(twin: Twin, found: Inspection) -> str:
    joints, commands = _count(twin)
    x, y, z = found.centre_of_gravity
    return (
        f"{counted(joints, 'joint')}, {counted(commands, 'command')}, "
        f"{found.total_mass:.4g} kg, centre of gravity {x:.3f} {y:.3f} {z:.3f} m "
        f"(pose {found.pose}), time step {twin.compiled.model.opt.timestep * 1e3:g} ms"
    )


def _describe_floating(twin: Twin) -> str:
    base, objects = twin.base, ", ".join(twin.objects)
    told = (
        "Base: fixed to the world" if base is None else f"Base: {base.body}, floating"
    )
    told += f" ({twin.floating.reason})."
    return f"{told} Objects: {objects}." if objects else told


def _describe_residual(residual: Residual) -> str:
    described = residual.description
    told = f"Residual: a learned force on {', '.join(described.joints)}"
    if described.gain == 0.0:
        return f"{told}, switched off: it did not help unseen recordings."
    if evidence := described.evidence:
        told += (
            f"; free runs of {evidence.horizon:g} s are off by "
            f"{evidence.with_residual:.3g}, without it by {evidence.without:.3g}"
        )
    return f"{told}."


def _emit_findings(findings: Sequence[ModelFinding]) -> None:
    if not findings:
        emit_note("Inspection: nothing looks wrong.\n", style="green")
        return
    rows = [
        (
            Text(finding.severity, style=_STYLES[finding.severity]),
            finding.subject,
            f"{finding.text} {finding.hint}".strip(),
        )
        for finding in findings
    ]
    emit_table("Inspection", ("", "where", "what"), rows)


def _emit_bodies(found: Inspection) -> None:
    names = [body.name for body in found.bodies]
    masses = [body.mass for body in found.bodies]
    centres = aligned([body.centre_of_mass for body in found.bodies])
    inertias = aligned([body.principal_inertia for body in found.bodies])
    emit_table(
        "Bodies",
        ("name", "mass [kg]", "centre of mass [m]", "principal inertia [kg·m²]"),
        zip(names, masses, centres, inertias, strict=True),
    )


def _emit_joints(found: Inspection) -> None:
    slides = {joint.type for joint in found.joints} & {"slide", "hinge"}
    angle, torque = ("m", "N") if slides == {"slide"} else ("rad", "N·m")
    inertia = "kg" if slides == {"slide"} else "kg·m²"
    emit_table(
        "Joints",
        (
            "name",
            "type",
            f"range [{angle}]",
            f"damping [{torque}·s/{angle}]",
            f"dry friction [{torque}]",
            f"armature [{inertia}]",
        ),
        [
            (j.name, j.type, span(j.range), j.damping, j.frictionloss, j.armature)
            for j in found.joints
        ],
    )
    if slides == {"hinge", "slide"}:
        emit_note("Of slides, read m for rad, N for N·m and kg for kg·m².\n")


def _emit_actuators(found: Inspection) -> None:
    delayed = any(actuator.delay for actuator in found.actuators)
    rows: list[tuple[Cell, ...]] = [
        (
            a.name,
            a.joint,
            a.kind,
            a.gear,
            span(a.ctrlrange),
            span(a.forcerange),
            number(a.kp),
            number(a.kd),
            a.delay * 1e3 if delayed else None,
        )
        for a in found.actuators
    ]
    columns = ("name", "joint", "kind", "gear", "command", "torque [N·m]")
    emit_table("Actuators", (*columns, "kp", "kd", "delay [ms]"), rows)
