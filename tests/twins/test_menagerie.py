"""Every robot of Menagerie that is at hand: loaded, inspected, written, stepped."""

import os
from pathlib import Path

import mujoco_menagerie
import numpy as np
import pytest

from realworthy.simulators import MujocoCpu, Outcome
from realworthy.twins import BoundTwin, bind, inspect, load_twin
from realworthy.twins.commands import describe_commands

SHARED = Path(__file__).parents[3] / "shared"
ROOT = Path(os.environ.get("MENAGERIE_ROOT") or SHARED / "menagerie")
STEPS = 20


def list_entries() -> list[str]:
    """`<robot>/<entry>` of every entry point whose file is there."""
    names = set(mujoco_menagerie.names())
    return [
        f"{folder.name}/{entry.name}"
        for folder in sorted(ROOT.glob("*"))
        if folder.name in names
        for entry in mujoco_menagerie.get(folder.name).entry_points
        if (folder / entry.file).is_file()
    ]


ENTRIES = list_entries()


@pytest.fixture(autouse=True)
def root(menagerie_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))


def test_there_are_robots(menagerie_root: Path):
    folders = [path.name for path in menagerie_root.iterdir() if path.is_dir()]
    robots = {entry.partition("/")[0] for entry in ENTRIES}
    assert robots == set(folders)
    assert len(robots) >= 20


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_robot_is_loaded_inspected_and_takes_a_sample(entry: str):
    twin = load_twin(f"menagerie:{entry}")
    model = twin.compiled.model
    found = inspect(model, twin.datasheet)
    assert len(found.bodies) == model.nbody - 1
    assert len(found.actuators) == model.nactuator
    assert not [f for f in found.findings if f.severity == "error"]
    belief = twin.belief
    assert len(belief.space) > 0
    bound = bind(twin, belief.space)
    simulator = MujocoCpu(bound, 2, substeps=1, thread_count=1)
    samples = belief.sample(2, seed=1)
    simulator.write(samples)
    masses = [p.name for p in belief.space if p.kind == "mass"]
    written = simulator.field("body_mass")
    for name in masses:
        body = model.body(belief.space[name].element).id
        column = belief.space.index(name)
        np.testing.assert_allclose(written[:, body], samples[:, column], rtol=1e-12)
    simulator.reset()
    for _ in range(STEPS):
        simulator.step(middle_of(bound))
    assert (simulator.outcomes() == Outcome.OK).all()
    assert np.isfinite(simulator.array("qpos")).all()


def middle_of(bound: BoundTwin) -> np.ndarray:
    """A command in the middle of every range, zero where there is none."""
    lines = describe_commands(bound)
    ends = np.array([(line.lower, line.upper) for line in lines]).reshape(-1, 2)
    return np.where(np.isfinite(ends).all(1), ends.mean(1), 0.0)


def test_a_robot_alone_is_its_scene():
    assert load_twin("menagerie:unitree_go2").compiled.model.geom("floor").id >= 0
    assert load_twin("menagerie:unitree_go2/go2").compiled.model.nbody == 14
