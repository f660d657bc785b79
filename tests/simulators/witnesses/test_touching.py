"""Friction and masks per shape say what MuJoCo says per pair, where they can."""

import mujoco
import numpy as np
import pytest

from realworthy.simulators.witnesses import export_mechanism
from realworthy.simulators.witnesses.mechanism import Mechanism
from realworthy.simulators.witnesses.touching import (
    describe_friction,
    group_shapes,
    spread_friction,
)
from tests.simulators.witnesses.engines import find_robot


def make(floor: float, balls: list[float]) -> Mechanism:
    bodies = "".join(
        f'<body pos="{i} 0 1"><freejoint/><geom name="ball{i}" size="0.1" '
        f'friction="{mu} 0.005 0.0001"/></body>'
        for i, mu in enumerate(balls)
    )
    return export_mechanism(
        mujoco.MjModel.from_xml_string(
            f"""<mujoco><worldbody>
            <geom name="floor" type="plane" size="5 5 0.1"
              friction="{floor} 0.005 0.0001"/>
            {bodies}</worldbody></mujoco>"""
        )
    )


@pytest.mark.parametrize("harmonic", [True, False])
def test_the_engine_s_mean_gives_the_larger_friction(harmonic: bool):
    mechanism = make(0.4, [0.9])
    own, got = spread_friction(mechanism, harmonic=harmonic)
    a, b = own
    mean = 2 * a * b / (a + b) if harmonic else (a + b) / 2
    assert got == pytest.approx([0.9], rel=1e-6)
    assert mean == pytest.approx(0.9, rel=1e-6)
    assert describe_friction(mechanism, got) == ()


@pytest.mark.parametrize("harmonic", [True, False])
def test_contacts_with_the_world_come_first(harmonic: bool):
    mechanism = make(0.2, [0.9, 0.3])
    _, got = spread_friction(mechanism, harmonic=harmonic)
    names = [shape.name for shape in mechanism.shapes]
    by_pair = {
        tuple(names[k] for k in pair): mu
        for pair, mu in zip(mechanism.touching.pairs, got, strict=True)
    }
    assert by_pair["floor", "ball0"] == pytest.approx(0.9, rel=0.01)
    assert by_pair["floor", "ball1"] == pytest.approx(0.3, rel=0.01)


def test_what_numbers_per_shape_cannot_say_is_said():
    # near 0.2 + 0.8 and 1.0 + 0.8 with the floor, so that 0.2 and 1.0 give 0.6
    mechanism = make(0.5, [0.9, 0.2, 0.2])
    _, got = spread_friction(mechanism, harmonic=False)
    (sentence,) = describe_friction(mechanism, got)
    assert "'ball0' and 'ball1', 0.6" in sentence
    assert sentence.endswith("instead of 0.90.")


@pytest.mark.parametrize("name", ["quadruped", "arm", "humanoid", "bimanual"])
def test_groups_reproduce_every_pair(name: str):
    mechanism = export_mechanism(find_robot(name).compiled.model)
    count = len(mechanism.shapes)
    links = np.array([shape.link for shape in mechanism.shapes])
    indifferent = links[:, None] == links
    own, meet = group_shapes(mechanism, indifferent)
    allowed = np.zeros((count, count), dtype=bool)
    for i, j in mechanism.touching.pairs:
        allowed[i, j] = allowed[j, i] = True
    found = meet[np.ix_(own, own)]
    assert np.array_equal(found[~indifferent], allowed[~indifferent])
    assert len(meet) <= 32
