"""Every kind of shape lies on the floor as it should, in every engine."""

import numpy as np
import pytest

from realworthy.simulators.witnesses import WITNESSES
from realworthy.simulators.witnesses.drake import DrakeWitness, resolved_contacts
from realworthy.twins import bind
from tests.simulators.robots import make_twin
from tests.simulators.witnesses.engines import ENGINES, needs_drake, needs_sapien

every_engine = pytest.mark.parametrize("engine", ENGINES)
PYRAMID = "0.1 0.1 0  -0.1 0.1 0  -0.1 -0.1 0  0.1 -0.1 0  0 0 0.2"
SHAPES = {
    "sphere": ('type="sphere" size="0.1"', 0.1),
    "box": ('type="box" size="0.3 0.2 0.1"', 0.1),
    "ellipsoid": ('type="ellipsoid" size="0.2 0.2 0.1"', 0.1),
    "standing cylinder": ('type="cylinder" size="0.2 0.1"', 0.1),
    "lying cylinder": ('type="cylinder" size="0.1 0.2" euler="90 0 0"', 0.1),
    "lying capsule": ('type="capsule" size="0.1 0.2" euler="0 90 0"', 0.1),
    "pyramid": ('type="mesh" mesh="pyramid"', 0.0),
    "box off its body": ('type="box" size="0.3 0.2 0.1" pos="0 0 0.07"', 0.03),
}
"""A geom, and the height [m] of its body once it lies on the floor."""
PLANE = 'type="plane" size="5 5 0.1"'
TEXT = """
<mujoco model="thing">
  <option timestep="0.002" gravity="0 0 -9.81"/>
  <asset><mesh name="pyramid" vertex="{pyramid}"/>{asset}</asset>
  <worldbody>
    <geom name="floor" {floor}/>
    <body name="thing" pos="0 0 {height}">
      <freejoint name="thing"/>
      <geom name="thing" {geom} mass="1"/>
    </body>
  </worldbody>
</mujoco>
"""


def drop(
    engine: str, geom: str, height: float, floor: str, asset: str = ""
) -> np.ndarray:
    """(7,) pose half a second after a fall."""
    text = TEXT.format(
        pyramid=PYRAMID, geom=geom, height=height, floor=floor, asset=asset
    )
    witness = WITNESSES[engine](bind(make_twin(text)), 1, 10)
    for _ in range(30):
        witness.step(np.empty((1, 0)))
    assert not witness.outcomes().any()
    return np.array(witness.array("qpos")[0])


@every_engine
@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_shape_comes_to_rest_on_a_plane(engine: str, shape: str):
    geom, height = SHAPES[shape]
    pose = drop(engine, geom, height + 0.01, PLANE)
    assert pose[2] == pytest.approx(height, abs=4e-3)
    assert abs(pose[3]) > 0.999  # upright


@every_engine
def test_a_ball_rests_on_a_box_of_the_world(engine: str):
    floor = 'type="box" size="1 1 0.25" pos="0 0 0.25"'
    pose = drop(engine, SHAPES["sphere"][0], 0.61, floor)
    assert pose[2] == pytest.approx(0.6, abs=4e-3)


@needs_drake
@pytest.mark.parametrize("shape", ["sphere", "box"])
def test_a_body_sinks_into_drake_s_floor_by_weight_over_stiffness(shape: str):
    geom, height = SHAPES[shape]
    text = TEXT.format(pyramid=PYRAMID, geom=geom, height=height, floor=PLANE, asset="")
    witness = DrakeWitness(
        bind(make_twin(text)), 1, substeps=10, settings=resolved_contacts()
    )
    for _ in range(50):
        witness.step(np.empty((1, 0)))
    sunk = height - witness.array("qpos")[0, 2]
    assert sunk == pytest.approx(9.81 / 5e4, rel=0.05)  # two springs of 1e5 N/m


@needs_sapien
def test_a_ball_rolls_down_a_height_field():
    asset = (
        '<hfield name="slope" nrow="2" ncol="2" size="2 2 1 0.1" elevation="0 1 0 1"/>'
    )
    floor = 'type="hfield" hfield="slope"'
    # half way up a slope of 1 in 4, it begins 0.1 above the surface and rolls to −x
    pose = drop("sapien", SHAPES["sphere"][0], 0.61, floor, asset)
    rise = 0.5 + pose[0] / 4 + 0.1 * np.sqrt(1 + 1 / 16)
    assert pose[0] < -0.1
    assert pose[2] == pytest.approx(rise, abs=0.02)
