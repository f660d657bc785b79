"""The circle, once around, on the embedded pendulum.

    Belief → sample → write into a Twin → Simulator → Recording
                                        → Robot     → Recording   (a stand-in, for now)

A belief about the pendulum's unknowns is sampled, each sample becomes a world, all
worlds are driven by the same torques, and so is a stand-in robot whose truth is hidden.
The stand-in's recording is then held against the worlds': which samples come closest?
That is no calibration (`realworthy calibrate` fits), but everything a fit needs.

Runs in seconds on a laptop CPU:  python recipes/circle.py --worlds 256
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from realworthy.deployment import play
from realworthy.parameters import IndependentBelief, LogUniform, Uniform
from realworthy.realities import StandIn, load_reality
from realworthy.recordings import Recording, load_recording, save_recording
from realworthy.simulators import MujocoCpu, describe_outcomes, record
from realworthy.twins import bind, load_twin, save_twin

SECONDS = 6.0


def believe(twin) -> IndependentBelief:
    """Wide ranges around numbers that a newcomer would not trust."""
    damping = twin.space["joint.damping"].nominal
    friction = twin.space["joint.coulomb_friction"].nominal
    marginals = {
        "joint.damping": LogUniform(damping / 4, damping * 4),
        "joint.coulomb_friction": LogUniform(friction / 4, friction * 4),
        "pendulum.mass": Uniform(0.55, 0.85),
        "all.delay": Uniform(0.0, 0.03),
    }
    return IndependentBelief(twin.space.select(list(marginals)), marginals)


def excite(count: int, period: float) -> np.ndarray:
    """(steps, 1) torques [N·m]: three sines that swing but do not wind up."""
    t = period * np.arange(count)
    waves = (1.2, 0.7), (0.8, 1.7), (0.5, 3.1)
    torque = np.sum([a * np.sin(2 * np.pi * f * t) for a, f in waves], axis=0)
    return torque[:, None]


def distance(simulated: Recording, real: Recording) -> float:
    """Root mean square of the difference in angle [rad]."""
    difference = simulated.stack("position") - real.stack("position")
    return float(np.sqrt(np.mean(difference**2)))


def main(world_count: int, seed: int) -> None:
    console = Console()
    twin = load_twin("pendulum")
    belief = believe(twin)
    console.print(f"[bold]Twin[/] {twin.name}: {twin.description}.")
    console.print(
        f"  {len(twin.space)} numbers of it can be unknown; this circle is about "
        f"{len(belief.space)}."
    )

    bound = bind(twin, belief.space)
    simulator = MujocoCpu(bound, world_count)
    e = belief.sample(world_count, seed=seed)
    simulator.write(e)
    simulator.reset()
    commands = excite(round(SECONDS / simulator.period), simulator.period)
    start = time.perf_counter()
    worlds = record(simulator, commands, seed=seed)
    taken = time.perf_counter() - start
    steps = world_count * len(commands)
    console.print(
        f"[bold]Simulator[/] {world_count} worlds, each with its own e, {SECONDS:g} s: "
        f"{steps:,} control steps in {taken:.2f} s ({steps / taken:,.0f}/s). "
        + (
            describe_outcomes(simulator.outcomes(), substeps=4)
            or "All worlds are well."
        )
    )

    reality = load_reality("pendulum_1_easy")
    robot = StandIn(reality)
    real = play(robot, commands, rate=1 / simulator.period)
    console.print(
        f"[bold]Robot[/] a stand-in called {reality.name}, its truth hidden: "
        f"{len(real.time)} rows at {real.rate:g} Hz."
    )

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "swing.parquet"
        save_recording(real, path)
        back = load_recording(path)
        console.print(
            f"[bold]Recording[/] written and read back, {path.stat().st_size:,} bytes, "
            f"sha256 {back.sha256()[:12]}…"
        )

    errors = np.array([distance(world, real) for world in worlds])
    nominal = record(MujocoCpu(twin, 1), commands)[0]
    near = errors.argsort()[: max(5, world_count // 20)]
    table = Table("parameter", "believed", "nearest samples", "truth", box=None)
    for name, column in zip(belief.space.names, e.T, strict=True):
        truth = reality.file.parameters.get(name, twin.space[name].nominal)
        table.add_row(
            name,
            f"{column.min():.3g} … {column.max():.3g}",
            f"{column[near].min():.3g} … {column[near].max():.3g}",
            f"{truth:.3g} {twin.space[name].unit}",
        )
    console.print(
        f"[bold]Gap[/] nominal twin {distance(nominal, real):.3f} rad, median world "
        f"{np.median(errors):.3f} rad, nearest world {errors.min():.3f} rad."
    )
    console.print(table)
    with tempfile.TemporaryDirectory() as folder:
        calm = twin.with_values(belief.space.values(e[errors.argmin()]))
        save_twin(calm, Path(folder) / "nearest.twin.yaml")
        back = load_twin(Path(folder) / "nearest.twin.yaml")
        gap = distance(record(MujocoCpu(back, 1), commands)[0], real)
    console.print(
        f"The nearest sample as a twin of its own, from its file: {gap:.3f} rad. "
        "Looking is not fitting: `realworthy calibrate` fits."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    main(arguments.worlds, arguments.seed)
