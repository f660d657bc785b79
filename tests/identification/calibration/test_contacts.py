"""Numbers of contacts are found where something touches, and only there."""

import numpy as np
import pytest

from realworthy.identification import calibrate
from realworthy.identification.identifiability.verdicts import ParameterVerdict
from realworthy.identification.validation.held_out import CalibrationOutcome
from realworthy.recordings import Recording, Sidecar
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind, load_twin

NAMES = ("all.contact_friction", "all.restitution", "all.softness")
TRUTH = {
    "all.contact_friction": 0.6,
    "all.restitution": 0.4,
    "all.softness": 0.012,
}
RATE, ROWS, SIGMA = 250, 600, 2e-4
FINGER = """
<mujoco model="finger">
  <option timestep="0.001" integrator="implicitfast" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="finger" pos="0 0 0.06">
      <joint name="press" type="slide" axis="0 0 1" damping="4" armature="0.05"/>
      <joint name="slide" type="slide" axis="1 0 0" damping="4" armature="0.05"/>
      <geom name="tip" type="sphere" size="0.02" mass="0.1"/>
    </body>
  </worldbody>
  <actuator>
    <position name="press" joint="press" kp="300" kv="5"/>
    <position name="slide" joint="slide" kp="300" kv="5"/>
  </actuator>
</mujoco>
"""


@pytest.fixture(scope="module")
def finger(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    path = tmp_path_factory.mktemp("contacts") / "finger.xml"
    path.write_text(FINGER)
    return load_twin(path)


def play(twin: Twin, seed: int, *, heights: tuple[float, float]) -> Recording:
    """Heights held for a while, and waves to and fro."""
    simulator = MujocoCpu(bind(twin, twin.space.select(NAMES)), 1, substeps=4)
    simulator.write(list(TRUTH.values()))
    simulator.reset()
    random, time = np.random.default_rng(seed), np.arange(ROWS) / RATE
    height = np.repeat(random.uniform(*heights, ROWS // 75), 75)
    aside = 0.05 * np.sin(2 * np.pi * random.uniform(0.5, 1.0) * time)
    (clean,) = record(simulator, np.stack([height, aside], axis=1))
    noisy = {
        name: values + SIGMA * random.standard_normal(ROWS)
        if name.endswith("position")
        else values
        for name, values in clean.signals.items()
        if name.endswith(("position", "command"))
    }
    sidecar = Sidecar(command_kind="position", rate=RATE)
    return Recording(clean.time, noisy, sidecar=sidecar)


def test_a_finger_that_presses_and_slides_tells_its_contact(finger: Twin):
    recordings = [play(finger, seed, heights=(-0.09, 0.0)) for seed in range(3)]
    found = calibrate(finger, recordings, parameters=NAMES)
    assert found.outcome is CalibrationOutcome.IMPROVED
    for name, truth in TRUTH.items():
        assert found[name].verdict.is_known
        assert found[name].mean == pytest.approx(truth, rel=0.05)


def test_a_finger_in_the_air_tells_nothing_of_contacts(finger: Twin):
    recordings = [play(finger, seed, heights=(-0.02, 0.03)) for seed in range(3)]
    found = calibrate(finger, recordings, parameters=NAMES)
    assert found.outcome is CalibrationOutcome.NOT_IDENTIFIED
    verdicts = {found[name].verdict for name in NAMES}
    assert verdicts == {ParameterVerdict.NOT_EXCITED}
