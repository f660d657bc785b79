"""What adapting gains: RMA on the lift, MPPI on the cart-pole, SimOpt on the pendulum.

    python benchmarks/adaptation.py --seeds 0 1 2 3 4     # about 20 minutes on one core
    python benchmarks/adaptation.py --only rma_lift --seeds 0

Writes benchmarks/results/adaptation.json; `python benchmarks/pages.py` shows it on
docs/adapt.md. Parts that are not asked for stay as they were.
"""

import argparse
import datetime
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import realworthy as rw
from realworthy.adaptation.mppi import Mppi, MppiSettings
from realworthy.adaptation.simopt import fit_simopt
from realworthy.learning.runs import find_commit
from realworthy.parameters import GaussianBelief
from realworthy.simulators import MujocoCpu
from realworthy.tasks.catalogue import find_task
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.twins import bind, load_twin

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "adaptation.json"
LIFT = f"{ROOT / 'recipes' / 'adapt_lift.py'}:Lift"

UNKNOWN = {"carriage.mass": (0.5, 2.5), "motor.gear": (0.6, 1.2)}
SPREAD = {
    "pendulum.mass": 0.3,
    "joint.damping": 0.5,
    "joint.coulomb_friction": 0.5,
}
"""Standard deviation of the logarithm of each, before SimOpt."""


def measure_rma(seeds: list[int]) -> dict[str, Any]:
    """Every arm in the same 256 episodes, per seed."""
    found = []
    for seed in seeds:
        settings = rw.AdaptSettings(
            unknown=UNKNOWN,
            change_every=1.0,
            steps=300_000,
            student_steps=100_000,
            seed=seed,
        )
        with tempfile.TemporaryDirectory() as name:
            began = time.process_time()
            found.append(rw.adapt("rma", LIFT, Path(name) / "run", settings=settings))
            print(found[-1], f"{time.process_time() - began:.0f} s of processor time")
    rows = []
    for arm in found[0].arms:
        closed = [one.close_gap(arm.name) for one in found]
        shares = [one[0] for one in closed if one is not None]
        is_told = len(shares) == len(found) and arm.name != "randomized"
        rows.append(
            [
                arm.name,
                round(median(one.arm(arm.name).mean for one in found), 3),
                round(median(one.arm(arm.name).success or 0.0 for one in found), 2),
                round(median(shares), 2) if is_told else None,
                round(min(shares), 2) if is_told else None,
            ]
        )
    columns = ["policy", "return", "success", "gap closed", "gap closed, worst seed"]
    return {"columns": columns, "rows": rows}


def measure_planners(seeds: list[int]) -> dict[str, Any]:
    """Two swing-ups a seed, with a latency of one control period."""
    task = find_task("cartpole_swing_up")
    returns, successes, seconds = [], [], 0.0
    for seed in seeds:
        worlds, settings = TaskWorlds(task.build(), 2, seed=seed), MppiSettings()
        mppi = Mppi(task.build(), 2, settings)
        total, alive = np.zeros(2), np.ones(2, bool)
        good, began = np.zeros(2, bool), time.process_time()
        for _ in range(worlds.step_limit):
            scene = worlds.scene
            action = mppi.act(scene.qpos.double().numpy(), scene.qvel.double().numpy())
            step = worlds.step(torch.from_numpy(action).float())
            total += np.where(alive, step.reward.numpy(), 0.0)
            good |= alive & step.done.numpy() & step.success.numpy()
            alive &= ~step.done.numpy()
        seconds += (time.process_time() - began) / mppi.timing.plans / 2
        returns += total.tolist()
        successes += good.tolist()
        print(seed, good, total.round(2))
    row = [
        "MPPI, 96 plans of 1 s",
        f"{sum(successes)} of {len(successes)}",
        round(median(returns), 2),
        round(min(returns), 2),
        round(1e3 * seconds / len(seeds)),
    ]
    columns = [
        "planner",
        "swing-ups",
        "return",
        "worst",
        "processor time of a plan [ms]",
    ]
    return {"columns": columns, "rows": [row]}


def measure_simopt(seeds: list[int]) -> dict[str, Any]:
    """A planted truth of each seed, and how far from it the result is."""
    twin = load_twin("pendulum")
    space = twin.space.select([*SPREAD])
    mean, covariance = space.to_z(space.nominal), np.diag([*SPREAD.values()]) ** 2

    def simulate(e: np.ndarray) -> np.ndarray:
        simulator = MujocoCpu(bind(twin, space), len(e), substeps=10)
        simulator.write(e)
        simulator.reset(qpos=[0.3], qvel=[0.0])
        rows = []
        for k in range(60):
            torque = 2.0 * np.sin(0.02 * k * (3 + k / 30))
            simulator.step(np.full((len(e), 1), torque))
            q, v = (np.asarray(simulator.array(x)) for x in ("qpos", "qvel"))
            rows.append(np.concatenate([q, v], 1).copy())
        return np.stack(rows, 1)

    rows = []
    for seed in seeds:
        truth = GaussianBelief(space, mean, covariance).sample(1, seed=100 + seed)
        found = fit_simopt(
            space,
            simulate,
            simulate(truth)[0],
            mean_z=mean,
            covariance_z=covariance,
            seed=seed,
        )
        off = space.to_z(truth[0]) - found.belief.mean_z
        distance = off @ np.linalg.solve(found.belief.covariance_z, off)
        worst = np.abs(np.exp(-off) - 1).max()
        rows.append(
            [
                seed,
                round(found.reduction, 3),
                len(found.divergences),
                round(float(found.divergences.max()), 2),
                round(float(worst), 2),
                round(float(distance), 1),
            ]
        )
        print(rows[-1])
    columns = [
        *("seed", "discrepancy removed", "updates", "largest KL [nat]"),
        *("worst parameter off", "squared Mahalanobis distance of the truth"),
    ]
    return {"columns": columns, "rows": rows}


PARTS: dict[str, Callable[[list[int]], dict[str, Any]]] = {
    "rma_lift": measure_rma,
    "planners": measure_planners,
    "simopt": measure_simopt,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", choices=PARTS, nargs="+", default=[*PARTS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    arguments = parser.parse_args()
    kept = json.loads(RESULTS.read_text())["tables"] if RESULTS.exists() else {}
    for name in arguments.only:
        seeds = " ".join(map(str, arguments.seeds))
        kept[name] = {
            "date": datetime.date.today().isoformat(),
            "machine": f"one core of {platform.machine()}, busy with other work",
            **PARTS[name](arguments.seeds),
            "commit": find_commit()[:9] or None,
            "seeds": seeds,
            "command": f"python benchmarks/adaptation.py --only {name} --seeds {seeds}",
        }
        RESULTS.write_text(json.dumps({"tables": kept}, indent=1) + "\n")


if __name__ == "__main__":
    main()
