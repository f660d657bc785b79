"""`show tasks`: what can be learned; one of them with all that it is made of."""

from realworthy.cli.printing import emit_heading, emit_table
from realworthy.learning.presets import find_preset
from realworthy.tasks.catalogue import TASKS, build_task


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


def show_task(name: str) -> object:
    """What a task observes, does, is told, and is rewarded for."""
    task = build_task(name)
    emit_heading(task.name, f"{TASKS[name].about}, on twin '{task.twin.name}'")
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
