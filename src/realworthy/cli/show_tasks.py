"""`show tasks`: what can be learned; one of them with all that it is made of."""

import re

from realworthy.cli.printing import emit_heading, emit_note, emit_table
from realworthy.errors import RealworthyError
from realworthy.learning.presets import find_preset
from realworthy.tasks.catalogue import TASKS, build_task, find_task
from realworthy.tasks.task import Task
from realworthy.tasks.trial_play import check_task
from realworthy.twins import load_twin

_MAX_REASON_LENGTH = 160
"""Letters of a reason: two lines of a terminal; names of many commands are cut."""
_ROLES = ("tip", "gripper", "trunk", "feet", "home")


def show_tasks() -> object:
    """Every task in a line."""
    emit_table(
        "Tasks",
        ("name", "twin", "minutes", ""),
        [
            (name, entry.twin, find_preset(name).minutes, entry.about)
            for name, entry in TASKS.items()
        ],
    )
    return {
        "tasks": [
            {"name": name, "twin": entry.twin, "about": entry.about}
            for name, entry in TASKS.items()
        ]
    }


def show_fits(reference: str, base: str = "") -> object:
    """Which tasks a twin can learn, which part does what, and what is missing."""
    twin = load_twin(reference, base=base)
    built: dict[str, Task] = {}
    missing: dict[str, RealworthyError] = {}
    for name in TASKS:
        try:
            built[name] = build_task(name, twin)
        except RealworthyError as error:
            missing[name] = error
    emit_heading(twin.name, f"{len(built)} of {len(TASKS)} tasks fit it")
    emit_table(
        "Tasks that fit",
        ("name", "added in simulation"),
        [(name, "; ".join(task.added) or "nothing") for name, task in built.items()],
    )
    emit_table(
        "Tasks that do not fit",
        ("name", "what is missing", "what to do"),
        [
            (", ".join(names), reason, missing[names[0]].hint)
            for reason, names in _group(missing, twin.owner).items()
        ],
    )
    roles = twin.roles
    parts = {role: getattr(roles, role) for role in _ROLES}
    for task in built.values():  # and what legged tasks choose themselves
        parts = {**task.parts, **parts}
    emit_table(
        "Roles",
        ("role", "part", "because"),
        [(role, part.words or "none", part.reason) for role, part in parts.items()],
    )
    emit_note("Another part: --role ROLE=PART of train, or roles: in a twin file.")
    return {
        "twin": twin.name,
        "tasks": [
            {
                "name": name,
                "fits": name in built,
                "added": list(built[name].added) if name in built else [],
                "missing": missing[name].problem if name in missing else "",
            }
            for name in TASKS
        ],
        "roles": {
            role: {"part": part.words, "because": part.reason}
            for role, part in parts.items()
        },
    }


def show_task(name: str, twin: str = "", base: str = "") -> object:
    """What a task observes, does, is told, and is rewarded for."""
    definition, given = find_task(name), load_twin(twin, base=base) if twin else None
    check_task(definition, given)
    task = definition.build(given)
    about = f"{definition.about}, " if definition.about else ""
    emit_heading(task.name, f"{about}on twin '{task.twin.name}'")
    emit_table(
        "Observed",
        ("term", "numbers", "signals"),
        [(t.name, t.width * t.history, ", ".join(t.signals)) for t in task.terms],
    )
    emit_table(
        "Actions",
        ("command", "of a zero action", "per unit"),
        list(
            zip(
                task.action.commands,
                task.action.offset,
                task.action.scale,
                strict=True,
            )
        ),
    )
    if task.parts:
        emit_table(
            "Roles",
            ("role", "part", "because"),
            [(role, x.words, x.reason) for role, x in task.parts.items()],
        )
    for line in task.added:
        emit_note(f"Added: {line}.", style="")
    if task.inputs:
        emit_table(
            "Told",
            ("input", "least", "most", "unit"),
            [(i.name, i.lower, i.upper, i.unit) for i in task.inputs],
        )
    emit_table("Rewarded", ("term", "weight"), list(task.weights.items()))
    return {
        "name": task.name,
        "twin": task.twin.name,
        "period": task.period,
        "seconds": task.seconds,
        "terms": [t.name for t in task.terms],
        "commands": list(task.action.commands),
        "inputs": [i.name for i in task.inputs],
        "weights": dict(task.weights),
    }


def _group(missing: dict[str, RealworthyError], owner: str) -> dict[str, list[str]]:
    """What is missing, without saying whose it is, → the tasks that miss it."""
    found: dict[str, list[str]] = {}
    for name, error in missing.items():
        reason = " ".join(error.problem.split())
        reason = reason.removeprefix(f"Task '{name}' does not fit {owner}: ")
        reason = re.sub(f"^{re.escape(owner)} ", "it ", reason, flags=re.IGNORECASE)
        if len(reason) > _MAX_REASON_LENGTH:
            reason = reason[:_MAX_REASON_LENGTH].rpartition(" ")[0] + " …"
        found.setdefault(reason, []).append(name)
    return found
