"""What a condition asks for is what the worlds have."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.certification.subject import (
    CannotPlay,
    Subject,
    build_subject,
    find_twin,
)
from realworthy.certification.suite.condition import Condition
from realworthy.errors import RealworthyError
from realworthy.policies.contract import TwinReference
from realworthy.twins import load_twin
from realworthy.twins.variants import Variant


def read_masses(subject: Subject, condition: Condition, **given: object) -> np.ndarray:
    """(worlds, bodies) [kg] in the model."""
    worlds = subject.build_worlds(condition, 2, seed=0, **given)  # pyright: ignore
    return worlds.simulator.field("body_mass")


def find_body(subject: Subject, name: str) -> int:
    return int(subject.twin.compiled.model.body(name).id)


def test_without_rows_every_world_is_the_twin(balancing: Subject):
    masses = balancing.twin.compiled.model.body_mass
    assert np.allclose(read_masses(balancing, Condition()), masses)


def test_given_e_reaches_the_model(balancing: Subject):
    rows = np.array([[0.05, 1.1], [0.2, 0.9]])
    found = read_masses(
        balancing, Condition(), rows=rows, names=("pole.mass", "cart.mass")
    )
    assert found[:, find_body(balancing, "pole")] == pytest.approx([0.05, 0.2])
    assert found[:, find_body(balancing, "cart")] == pytest.approx([1.1, 0.9])


def test_factors_and_additions(balancing: Subject):
    nominal = balancing.twin.compiled.model.body_mass
    found = read_masses(balancing, Condition(times={"all.mass": 1.15}))
    assert found == pytest.approx(1.15 * np.tile(nominal, (2, 1)))
    cart = find_body(balancing, "cart")
    found = read_masses(balancing, Condition(plus={"cart.mass": 0.25}))
    assert found[:, cart] == pytest.approx(nominal[cart] + 0.25)


def test_a_factor_is_one_of_the_given_value(balancing: Subject):
    rows, names = np.array([[0.08], [0.12]]), ("pole.mass",)
    condition = Condition(times={"pole.mass": 1.5})
    found = read_masses(balancing, condition, rows=rows, names=names)
    assert found[:, find_body(balancing, "pole")] == pytest.approx([0.12, 0.18])


def test_a_payload_is_the_robots_and_no_object_gets_heavier(balancing: Subject):
    twin = load_twin("bimanual")
    e = replace(balancing, twin=twin).find_e(Condition(times={"all.mass": 1.5}))
    model = twin.compiled.model
    moving = [
        model.body(i).name
        for i in range(1, model.nbody)
        if model.body_weldid[i] and model.body(i).name != "box"
    ]
    assert set(e) == {f"{name}.mass" for name in moving}
    for name in moving:
        assert e[f"{name}.mass"] == pytest.approx(1.5 * model.body(name).mass[0])


def test_find_e_says_the_values(balancing: Subject):
    condition = Condition(times={"cart.mass": 1.2}, plus={"all.delay": 0.01})
    assert balancing.find_e(condition) == pytest.approx(
        {"cart.mass": 1.2, "all.delay": 0.01}
    )


def test_a_variant_reaches_the_model(balancing: Subject):
    variant = Variant(timestep=0.5)
    worlds = balancing.build_worlds(Condition(variant=variant), 1, seed=0)
    plain = balancing.build_worlds(Condition(), 1, seed=0)
    assert worlds.simulator.substeps == 2 * plain.simulator.substeps
    assert worlds.period == pytest.approx(plain.period)


def test_noise_and_latency_reach_the_policy(balancing: Subject):
    still = balancing.build_worlds(Condition(noise=0.0), 64, seed=0)
    noisy = balancing.build_worlds(Condition(noise=3.0), 64, seed=0)
    difference = (noisy.observations["policy"] - still.observations["policy"]).numpy()
    assert difference[:, 0].std() == pytest.approx(0.003, rel=0.4)  # 3 × 1 mm
    late = balancing.build_worlds(Condition(late_steps=2), 1, seed=0)
    assert late.randomization.latency == (2, 2)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (Condition(times={"all.kp": 0.8}), "has no 'all.kp'"),
        (Condition(plus={"all.delay": -1.0}), "would leave"),
        (Condition(variant=Variant(timestep=0.7)), "no multiple"),
    ],
)
def test_what_cannot_be_had_is_said(balancing: Subject, condition, said: str):
    with pytest.raises(CannotPlay, match=said):
        balancing.build_worlds(condition, 1, seed=0)


def test_the_task_sees_by_the_contract(balancing: Subject):
    terms = balancing.contract.terms[::-1]
    told = msgspec.structs.replace(balancing.contract, terms=terms)
    other = Subject(
        path=balancing.path, contract=told, task=balancing.task, twin=balancing.twin
    )
    assert other.build_task().terms == terms


def test_costs(balancing: Subject, driving: Subject):
    assert not balancing.is_costly
    assert not driving.is_costly


def test_an_unknown_task_is_said(balancing: Subject):
    with pytest.raises(RealworthyError, match="cartpole_balanc") as raised:
        build_subject(balancing.path, task="cartpole_balanc")
    assert "Nearest: 'cartpole_balance'" in raised.value.hint


def test_a_twin_that_moved_with_its_policy_is_named(balancing: Subject, tmp_path: Path):
    """It is not taken: another calibration may have the same name."""
    old = TwinReference(name="cart", reference="gone/calibrated.twin.yaml")
    contract = msgspec.structs.replace(balancing.contract, twin=old)
    policy = tmp_path / "runs" / "one" / "policy.onnx"
    with pytest.raises(RealworthyError) as caught:
        find_twin(contract, policy)
    assert caught.value.hint == (
        "Say where it is, or on which other twin to certify: --twin TWIN"
    )
    moved = tmp_path / "calibrated.twin.yaml"
    moved.write_text("")
    with pytest.raises(RealworthyError) as caught:
        find_twin(contract, policy)
    assert str(moved) in str(caught.value.hint)
