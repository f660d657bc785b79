"""What a run adds to worlds of a task: uneven ground, loads that come and go."""

from collections.abc import Mapping
from dataclasses import replace

from realworthy.errors import RealworthyError, UnknownName
from realworthy.parameters import IndependentBelief, JoinedBelief
from realworthy.parameters.processes import Load
from realworthy.tasks.legged.quadruped import QuadrupedVelocity
from realworthy.tasks.legged.terrain import TerrainSettings
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Task
from realworthy.twins import Twin

_EVERY = 4.0
"""[s] between two changes of a load on average: a few in an episode of any task."""


def put_on_terrain(task: Task, twin: Twin | None, hardness: float) -> Task:
    """The task on ground whose hardest tiles are `hardness` times as uneven as usual.

    `twin` is what the task was built on; None: its own.
    """
    if not isinstance(task, QuadrupedVelocity):
        raise RealworthyError(
            f"Task '{task.name}' has no ground that could be uneven.",
            hint=f"Terrain is for: {QuadrupedVelocity.name}.",
        )
    if not 0 < hardness <= 2:
        raise RealworthyError(
            f"Terrain {hardness:g} times as hard as usual cannot be built.",
            hint="Choose above 0, up to 2; 1: stairs of 12 cm, slopes of 40 %.",
        )
    usual = TerrainSettings()
    terrain = replace(
        usual,
        roughness=hardness * usual.roughness,
        slope=hardness * usual.slope,
        step=hardness * usual.step,
    )
    return QuadrupedVelocity(twin, settings=replace(task.settings, terrain=terrain))


def add_payload(
    how: Randomization, twin: Twin, payload: Mapping[str, float]
) -> Randomization:
    """With a load on some bodies, by name and at most [kg], that comes and goes.

    Every four seconds on average it changes: half of the times it is taken off, else it
    is another one. All else is as it was.
    """
    loads, names = [], []
    for body, most in payload.items():
        name = f"{body}.mass"
        if name not in twin.space:
            bodies = [p.element for p in twin.space if p.kind == "mass"]
            known = [one for one in bodies if one != "all"]
            raise UnknownName("body with a mass", body, known, owner=twin.owner)
        if not 0 < most < 1e3:
            raise RealworthyError(
                f"A payload of {most:g} kg on '{body}' is none.",
                hint="Give kilograms above 0, such as trunk=2.",
            )
        loads.append(Load(name, most=most, every=_EVERY))
        names.append(name)
    belief = how.belief
    lacking = [name for name in names if belief is None or name not in belief.space]
    if lacking:
        fixed = IndependentBelief(twin.space.select(lacking), {})
        belief = fixed if belief is None else JoinedBelief(belief, fixed)
    return replace(how, belief=belief, processes=(*how.processes, *loads))
