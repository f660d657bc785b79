"""Tables of `realworthy show`; each also returns what it shows."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from realworthy.errors import RealworthyError, UnknownName
from realworthy.parameters import Belief, ParameterSpace, load_belief
from realworthy.realities import load_reality, reality_names
from realworthy.recordings import IMPORTERS, load_recordings, summary
from realworthy.recordings.recording import Recording
from realworthy.twins import Twin, builtin_names, inspect, load_twin

_SEVERITY = {"error": "bold red", "warning": "yellow", "note": "dim"}


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=110)


def _table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Prints a table; columns that begin with > are numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    for column in columns:
        right = column.startswith(">")
        table.add_column(
            Text(column.removeprefix(">")),
            justify="right" if right else "left",
            header_style="dim",
            overflow="fold",
        )
    for row in rows:
        table.add_row(
            *(cell if isinstance(cell, Text) else _text(cell) for cell in row)
        )
    console = _console()
    console.print(table)
    console.print()


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.4g}"
    if isinstance(cell, tuple):
        return " ".join(_text(part) for part in cell)
    return str(cell)


def show_topics() -> object:
    """Where to go on."""
    topics = {
        "twins": "models of robots that come with Realworthy, and menagerie:<robot>",
        "parameters": "what can be unknown about a twin (--twin TWIN)",
        "realities": "stand-ins for robots, with a hidden truth",
        "importers": "foreign layouts of recordings",
        "FILE": "a twin, model, recording, belief or reality file",
    }
    _table("realworthy show …", ("what", ""), topics.items())
    return {"topics": topics}


def show_twins() -> object:
    """Every built-in twin in a line."""
    twins = [load_twin(name) for name in builtin_names()]
    rows = [
        (
            twin.name,
            len(twin.compiled.model.jnt_type),
            int(twin.compiled.model.nu),
            float(twin.compiled.model.body_mass.sum()),
            twin.description,
        )
        for twin in twins
    ]
    _table("Built-in twins", ("name", ">joints", ">commands", ">kg", ""), rows)
    _console().print(
        "Also: an .xml or .urdf file, a .twin.yaml, or menagerie:<robot>.", style="dim"
    )
    return {"twins": [{"name": t.name, "description": t.description} for t in twins]}


def show_twin(reference: str) -> object:
    """Inspection of one twin: what it is made of, and what looks wrong."""
    twin = load_twin(reference)
    found = inspect(twin.compiled.model, twin.datasheet)
    console = _console()
    x, y, z = found.centre_of_gravity
    console.print(Text(twin.name, style="bold"), Text(twin.description))
    console.print(
        f"{found.total_mass:.4g} kg, centre of gravity {x:.3f} {y:.3f} {z:.3f} m "
        f"(pose {found.pose}), time step {twin.compiled.model.opt.timestep * 1e3:g} ms\n"
    )
    _show_findings(found.findings)
    _table(
        "Bodies",
        ("name", ">kg", ">centre of mass [m]", ">principal inertia [kg·m²]"),
        [(b.name, b.mass, b.centre_of_mass, b.principal_inertia) for b in found.bodies],
    )
    _table(
        "Joints",
        ("name", "type", ">range", ">damping", ">dry friction", ">armature"),
        [
            (j.name, j.type, j.range, j.damping, j.frictionloss, j.armature)
            for j in found.joints
        ],
    )
    _table(
        "Actuators",
        (
            "name",
            "joint",
            "kind",
            ">gear",
            ">command",
            ">torque",
            ">kp",
            ">kd",
            ">delay",
        ),
        [
            (a.name, a.joint, a.kind, a.gear, a.ctrlrange, a.forcerange)
            + (a.kp, a.kd, a.delay)
            for a in found.actuators
        ],
    )
    if twin.belief_text is not None:
        _show_belief(twin.belief)
    return {"name": twin.name, "inspection": found, "parameters": twin.space.names}


def _show_findings(findings: Sequence) -> None:
    if not findings:
        _console().print("Inspection: nothing looks wrong.\n", style="green")
        return
    rows = [
        (
            Text(f.severity, style=_SEVERITY[f.severity]),
            f.subject,
            f.text + (f" {f.hint}" if f.hint else ""),
        )
        for f in findings
    ]
    _table("Inspection", ("", "where", "what"), rows)


def show_parameters(reference: str, pattern: str) -> object:
    """What can be unknown about a twin; `pattern` keeps names that contain it."""
    if not reference:
        raise RealworthyError(
            "Whose parameters? A twin is missing.",
            hint="Try: realworthy show parameters --twin pendulum",
        )
    twin = load_twin(reference)
    chosen = [p for p in twin.space if pattern in p.name]
    if not chosen:
        twin.space.index(pattern)
    rows = [
        (p.name, p.nominal, p.unit, p.lower, p.upper, str(p.transform)) for p in chosen
    ]
    title = f"{len(rows)} parameters of {twin.name}"
    columns = ("name", ">nominal", "unit", ">lower", ">upper", "transform")
    _table(title, columns, rows)
    return {"twin": twin.name, "parameters": chosen}


def show_realities() -> object:
    """Every shipped reality in a line."""
    realities = [load_reality(name) for name in reality_names()]
    rows = [(r.name, r.file.twin, r.file.description) for r in realities]
    _table("Realities", ("name", "twin", ""), rows)
    return {"realities": [{"name": r.name, "file": r.file} for r in realities]}


def show_reality(reference: str) -> object:
    """The hidden truth of a reality."""
    from realworthy.artefacts import to_yaml

    reality = load_reality(reference)
    _console().print(Text(reality.name, style="bold"), Text(reality.file.description))
    print(to_yaml(reality.file))
    return {"name": reality.name, "file": reality.file}


def show_importers() -> object:
    """Foreign layouts that can be read."""
    rows = [(name, importer.summary) for name, importer in IMPORTERS.items()]
    _table("Importers (--importer NAME)", ("name", "reads"), rows)
    return {"importers": dict(rows)}


def show_belief(path: str) -> object:
    """A belief file: means, spreads, strong correlations."""
    belief = load_belief(path)
    _show_belief(belief)
    return {"mean": belief.mean, "sd": belief.sd}


def _show_belief(belief: Belief) -> None:
    mean, sd = belief.mean, belief.sd
    correlation = belief.correlation()
    rows = [
        (
            p.name,
            mean[p.name],
            f"± {sd[p.name]:.2g}",
            p.unit,
            _partner(belief.space, c, i),
        )
        for i, (p, c) in enumerate(zip(belief.space, correlation, strict=True))
    ]
    columns = ("name", ">mean", ">sd", "unit", "most correlated with")
    _table("Belief", columns, rows)


def _partner(space: ParameterSpace, row: Sequence[float], own: int) -> str:
    others = [
        (abs(r), r, n) for i, (r, n) in enumerate(zip(row, space.names)) if i != own
    ]
    if not others:
        return ""
    size, signed, name = max(others)
    return f"{name} ({signed:+.2f})" if size > 0.3 else ""


def show_recordings(path: str, importer: str | None, twin_name: str) -> object:
    """What recordings hold; with a twin, whether its joints are there."""
    recordings = load_recordings(path, importer)
    summaries = [summary(recording) for recording in recordings]
    if twin_name:
        _check_joints(load_twin(twin_name), recordings)
    if len(summaries) > 1:
        _table(
            f"{len(summaries)} recordings in {path}",
            ("name", ">rows", ">s", ">Hz", "joints", ">suspicions"),
            [
                (s.name, s.row_count, s.duration, s.rate, ", ".join(s.joints))
                + (len(s.suspicions),)
                for s in summaries
            ],
        )
    else:
        _show_recording(summaries[0])
    return {"recordings": summaries}


def _show_recording(about) -> None:
    console = _console()
    regular = "regular" if about.is_regular else f"irregular, {about.gap_count} gaps"
    console.print(
        Text(about.name, style="bold"),
        Text(
            f"{about.row_count} rows, {about.duration:.3f} s at {about.rate:.4g} Hz "
            f"({regular})"
        ),
    )
    for suspicion in about.suspicions:
        console.print(Text(f"suspicious: {suspicion.text}", style="yellow"))
    _table(
        "Signals",
        ("name", "unit", ">min", ">max", ">rms"),
        [(s.name, s.unit, s.minimum, s.maximum, s.rms) for s in about.signals],
    )


def _check_joints(twin: Twin, recordings: Sequence[Recording]) -> None:
    from realworthy.twins.writers.joints import single_joints

    joints = single_joints(twin.compiled)
    for recording in recordings:
        for joint in recording.joints:
            if joint not in joints:
                raise UnknownName(
                    "joint",
                    joint,
                    joints,
                    owner=f"twin '{twin.name}'",
                    hint=f"{Path(str(recording.source)).name} records it: name it as "
                    "the twin does in the sidecar's mapping.",
                )
