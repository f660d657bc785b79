"""Friction and masks per shape say what MuJoCo says per pair, where they can."""

import mujoco
import numpy as np
import pytest

from realworthy.simulators.witnesses import export_mechanism
from realworthy.simulators.witnesses.contact_pairs import group_shapes, layer_shapes
from realworthy.simulators.witnesses.mechanism import Mechanism
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


def read_pairs(mechanism: Mechanism) -> dict[tuple[str, ...], float]:
    names = [shape.name for shape in mechanism.shapes]
    touching = mechanism.touching
    return {
        tuple(sorted(names[k] for k in pair)): mu
        for pair, mu in zip(touching.pairs, touching.friction, strict=True)
    }


def test_both_shapes_of_a_pair_have_the_pair_s_friction():
    mechanism = make(0.5, [0.9, 0.2, 0.0])
    layered, friction, said = layer_shapes(mechanism)
    assert said == ()
    assert read_pairs(layered) == read_pairs(mechanism)
    assert read_pairs(layered)["ball1", "floor"] == 0.5
    assert read_pairs(layered)["ball1", "ball2"] == 0.2
    own = friction[layered.touching.pairs]
    assert np.array_equal(own, np.repeat(layered.touching.friction[:, None], 2, axis=1))
    assert len(layered.touching.pairs) == len(mechanism.touching.pairs)


def test_too_many_frictions_are_joined_and_said():
    mechanism = make(0.0, np.linspace(0.1, 1.0, 10).tolist())
    layered, friction, said = layer_shapes(mechanism)
    assert len(np.unique(friction)) == 8
    found, wanted = read_pairs(layered), read_pairs(mechanism)
    assert found.keys() == wanted.keys()
    assert max(abs(found[k] - wanted[k]) for k in wanted) == pytest.approx(
        0.1, abs=0.06
    )
    assert said[0].startswith("There are 10 contact frictions; 8 are kept apart")


@pytest.mark.parametrize("name", ["quadruped", "arm", "humanoid", "bimanual"])
def test_groups_reproduce_every_pair(name: str):
    mechanism, *_ = layer_shapes(export_mechanism(find_robot(name).compiled.model))
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
