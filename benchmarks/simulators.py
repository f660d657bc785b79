"""Stepping many quadrupeds: through our simulators, and through the engines alone.

    python benchmarks/simulators.py [--worlds 1024] [--json FILE] [--check]

Prints control steps per second (four substeps each) and ratios to the raw engine at the
same threads, with the same per-world masses, frictions, gains and dampings, taken in
turns in one run. With a CUDA device also `MujocoGpu` against a replayed graph of
`mujoco_warp` alone. `--check` first puts `MujocoGpu` to the contract of simulators.

Needs numpy, mujoco and what `realworthy.simulators` imports; for the GPU part also
warp-lang, mujoco-warp and torch.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from realworthy.simulators.conformance import SINGLE, build_gpu, check_simulator
from realworthy.simulators.mujoco_cpu import MujocoCpu
from realworthy.simulators.simulator import Simulator
from realworthy.twins import BoundTwin, bind, load_twin

SUBSTEPS = 4
KINDS = ("mass", "damping", "kp", "kd")
GPU_WORLDS = (1024, 4096, 16384)
Floats = NDArray[np.float64]
Work = Callable[[], None]
"""One control step of all worlds."""
Rates = dict[str, float]
"""Name → control steps per second."""


def main() -> int:
    arguments = argparse.ArgumentParser(description="Stepping many quadrupeds.")
    arguments.add_argument("--worlds", type=int, default=1024)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--gpu-worlds", type=int, nargs="*", default=GPU_WORLDS)
    settings = arguments.parse_args()
    found: dict[str, object] = {"machine": describe_machine()}
    print(found["machine"])
    kept = True
    if settings.check:
        report = check_simulator(build_gpu, tolerance=SINGLE)
        kept = report.passed
        found["contract"] = {c.name: [c.passed, c.detail] for c in report.checks}
        print(f"contract: {len(report.checks) - len(report.failures)} kept")
        for check in report.failures:
            print(f"  BROKEN {check.name}: {check.detail}")
    rates = measure_cpu(settings.worlds, settings.rounds)
    found["cpu"] = rates
    show(f"CPU, {settings.worlds} worlds", rates, against="raw, current sensors")
    if has_cuda():
        found["gpu"] = {}
        for worlds in settings.gpu_worlds:
            rates = measure_gpu(worlds, settings.rounds)
            found["gpu"][str(worlds)] = rates  # pyright: ignore[reportIndexIssue]
            show(f"GPU, {worlds} worlds", rates, against="raw graph")
    if settings.json:
        settings.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if kept else 1


def measure_cpu(world_count: int, rounds: int) -> Rates:
    """Raw batches that do the same work, and `MujocoCpu.step`."""
    bound, samples = randomize(world_count)
    simulator = MujocoCpu(bound, world_count, substeps=SUBSTEPS)
    begin(simulator, samples)
    commands = make_commands(bound, world_count)
    stages = mujoco.mjtStage.mjSTAGE_NONE, mujoco.mjtStage.mjSTAGE_VEL
    works: dict[str, Work] = {
        "raw": step_raw(simulator, commands, stages[0]),
        "raw, current sensors": step_raw(simulator, commands, stages[1]),
        "raw, persistent, current sensors": step_raw(
            simulator, commands, stages[1], persistent=True
        ),
        "MujocoCpu.step": step_ours(simulator, commands),
    }
    return race(works, world_count, rounds, steps=8)


def step_raw(
    simulator: MujocoCpu,
    commands: list[Floats],
    stage: mujoco.mjtStage,
    *,
    persistent: bool = False,
) -> Work:
    """A batch of MuJoCo's own with the same numbers in the same state."""
    bound = simulator.bound
    batch = Batch(bound.model, simulator.world_count, 0, persistent)
    for name in bound.fields:
        batch.expand(name)[:] = simulator.field(name)
    batch.set_const()
    batch.bind("sensordata")
    batch.state[:] = simulator.state()
    ctrl, turn = batch.bind("ctrl"), cycle(commands)

    def step() -> None:
        ctrl[:] = next(turn)
        batch.step(None, SUBSTEPS, int(stage))

    return step


def measure_gpu(world_count: int, rounds: int) -> Rates:
    """A replayed graph of `mujoco_warp` alone, and `MujocoGpu.step`."""
    import torch
    import warp as wp

    from realworthy.simulators.mujoco_gpu import MujocoGpu

    bound, samples = randomize(world_count)
    started = time.perf_counter()
    simulator = MujocoGpu(bound, world_count, substeps=SUBSTEPS, device="cuda")
    print(f"  built in {time.perf_counter() - started:.0f} s, kernels included")
    begin(simulator, samples)
    commands = [
        torch.tensor(c, dtype=torch.float32, device="cuda")
        for c in make_commands(bound, world_count)
    ]
    mask = torch.zeros(world_count, dtype=torch.bool, device="cuda")
    mask[::50] = True  # as many as end in a step of training
    step = step_ours(simulator, commands)

    def step_and_reset() -> None:
        step()
        simulator.reset(mask)

    works: dict[str, Work] = {
        "raw graph": replay_raw(simulator, commands),
        "MujocoGpu.step": step,
        "MujocoGpu.step, reset of 2 %": step_and_reset,
    }
    rates = race(works, world_count, rounds, steps=50, wait=wp.synchronize)
    outcomes = np.bincount(simulator.outcomes(), minlength=3)
    print(f"  outcomes ok, diverged, overflow: {outcomes.tolist()}")
    return rates


def replay_raw(simulator: Simulator, commands: list) -> Work:
    """Four `mjw.step` in one CUDA graph, with the same numbers and the same room."""
    import mujoco_warp as mjw
    import torch
    import warp as wp

    from realworthy.simulators.warp.loop import estimate_constraints, estimate_contacts

    bound, count = simulator.bound, simulator.world_count
    derived = ["body_subtreemass", "body_invweight0", "dof_invweight0", "actuator_acc0"]
    names = [*bound.fields, *derived]
    contacts = estimate_contacts(bound.model)
    rows = estimate_constraints(bound.model, contacts, friction_moves=False)
    with wp.ScopedDevice("cuda"):
        model = mjw.put_model(bound.model, batch_sizes=dict.fromkeys(names, count))
        for name in names:
            array = getattr(model, name)
            flat = simulator.field(name).astype(np.float32)
            array.assign(flat.reshape(array.numpy().shape))
        data = mjw.make_data(bound.model, nworld=count, nconmax=contacts, njmax=rows)
        model.opt.warn_overflow = 0
        wp.to_torch(data.qpos).copy_(torch.as_tensor(simulator.array("qpos")))
        mjw.step(model, data)
        with wp.ScopedCapture() as capture:
            for _ in range(SUBSTEPS):
                mjw.step(model, data)
        ctrl, turn = wp.to_torch(data.ctrl), cycle(commands)
        wp.synchronize()

    def step(_alive: tuple = (model, data)) -> None:  # the graph does not hold them
        ctrl.copy_(next(turn))
        stream = wp.stream_from_torch(torch.cuda.current_stream())
        wp.capture_launch(capture.graph, stream=stream)

    return step


def step_ours(simulator: Simulator, commands: list) -> Work:
    turn = cycle(commands)
    return lambda: simulator.step(next(turn))


def randomize(world_count: int) -> tuple[BoundTwin, Floats]:
    """The quadruped with room for e, and one draw of it for each world."""
    twin = load_twin("quadruped")
    names = [p.name for p in twin.belief.space if p.kind in KINDS]
    belief = twin.belief.marginal([*names, "all.contact_friction"])
    return bind(twin, belief.space), belief.sample(world_count, seed=0)


def begin(simulator: Simulator, samples: Floats) -> None:
    simulator.write(samples)
    simulator.reset()


def make_commands(bound: BoundTwin, world_count: int) -> list[Floats]:
    """Targets that keep every robot on its feet and busy."""
    home = bound.compiled.own["own.initial_ctrl"]
    random = np.random.default_rng(0)
    shape = (16, world_count, len(home))
    return list(home + 0.1 * random.standard_normal(shape))


def cycle(items: list):
    """The items again and again."""
    while True:
        yield from items


def race(
    works: dict[str, Work],
    world_count: int,
    rounds: int,
    *,
    steps: int,
    wait: Callable[[], None] = lambda: None,
) -> Rates:
    """Medians of rounds in which each takes its turn; the first round only warms up."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            wait()
            started = time.perf_counter()
            for _ in range(steps):
                work()
            wait()
            taken[name].append(time.perf_counter() - started)
    return {
        name: world_count * steps / statistics.median(seconds[1:])
        for name, seconds in taken.items()
    }


def show(title: str, rates: Rates, *, against: str) -> None:
    print(f"\n{title}: control steps/s, and the ratio to '{against}'")
    for name, rate in rates.items():
        print(f"  {name:34} {rate:12,.0f}  {rate / rates[against]:6.2f} ×")


def describe_machine() -> str:
    """What the figures were measured on."""
    import os

    parts = [f"{os.cpu_count()} CPU cores, {platform.machine()}"]
    if has_cuda():
        import warp as wp

        parts.append(wp.get_device("cuda").name)
    versions = f"Python {platform.python_version()}, MuJoCo {mujoco.__version__}"
    return ", ".join([*parts, versions])


def has_cuda() -> bool:
    try:
        import mujoco_warp  # noqa: F401
        import torch
        import warp as wp
    except ImportError:
        return False
    wp.config.log_level = wp.LOG_WARNING
    return wp.is_cuda_available() and torch.cuda.is_available()


if __name__ == "__main__":
    sys.exit(main())
