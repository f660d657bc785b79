"""Mutants differ from the policy by exactly the fault that was planted."""

import msgspec
import numpy as np
import pytest

from realworthy.errors import RealworthyError, UnknownName
from realworthy.policies import Contract, Linear, Observer
from realworthy.policies.contract import NormaliserRecord
from realworthy.policies.parity import is_same, measure_parity
from realworthy.policies.policy import Engine
from realworthy.policies.terms import SineCosine
from tests.certification.linear import load_linear
from tests.certification.mutants import (
    Degrees,
    ExtraDelay,
    FaultSide,
    FlippedSign,
    ReversedHistory,
    StaleNormaliser,
    SwappedJoints,
    list_mutants,
    miswire,
    mutate,
)
from tests.policies.examples import ACTION, JOINTS, ORIENTATION, WIDTH, contract

ENGINES: tuple[Engine, ...] = ("onnxruntime", "numpy")
WORLDS = 3
HIP_AND_KNEE = [1, 0, 2, 4, 3, 5, 7, 6, 8, 9, 10, 11, 13, 12, 14, 15, 16, 17, 18]
"""Columns with hip and knee swapped: 3 angles, 3 times; gravity; 3 speeds; others."""
HIPS = [0, 3, 6, 12]


def rows(seed: int = 0, count: int = WORLDS) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, WIDTH))


def leg(**changes: object) -> Contract:
    sd = tuple(np.linspace(0.5, 2.0, WIDTH).tolist())
    scaled = NormaliserRecord(mean=(0.1,) * WIDTH, sd=sd)
    return contract(**{"normaliser": scaled, "parity": None, **changes})


UNSAID = (ExtraDelay, ReversedHistory, StaleNormaliser)


@pytest.fixture(params=ENGINES)
def policy(request, tmp_path):
    return load_linear(tmp_path, leg(), worlds=WORLDS, engine=request.param)


def test_swapped_actions(policy):
    made, w = policy
    mutant = SwappedJoints(first="hip", second="foot", side=FaultSide.ACTION)
    found = mutate(made, mutant).act(rows())
    assert found == pytest.approx((rows() @ w)[:, [2, 1, 0]], abs=1e-5)
    assert made.act(rows()) == pytest.approx(rows() @ w, abs=1e-5)


def test_swapped_observations(policy):
    made, w = policy
    mutant = SwappedJoints(first="hip", second="knee", side=FaultSide.OBSERVATION)
    found = mutate(made, mutant).act(rows())
    assert found == pytest.approx(rows()[:, HIP_AND_KNEE] @ w, abs=1e-5)


def test_flipped_signs(policy):
    made, w = policy
    found = mutate(made, FlippedSign(joint="knee", side=FaultSide.ACTION)).act(rows())
    assert found == pytest.approx((rows() @ w) * [1, -1, 1], abs=1e-5)
    flipped = rows()
    flipped[:, HIPS] *= -1
    found = mutate(made, FlippedSign(joint="hip", side=FaultSide.OBSERVATION)).act(
        rows()
    )
    assert found == pytest.approx(flipped @ w, abs=1e-5)


def test_reversed_history(policy):
    made, w = policy
    order = [6, 7, 8, 3, 4, 5, 0, 1, 2, *range(9, WIDTH)]
    found = mutate(made, ReversedHistory()).act(rows())
    assert found == pytest.approx(rows()[:, order] @ w, abs=1e-5)


def test_a_stale_normaliser_shows_the_network_other_numbers(policy):
    """The network inside sees z = (x − mean) / sd; a stale one makes z of x another."""
    made, w = policy
    now = made.contract.normaliser
    stale = StaleNormaliser(mean=(0.7,) * WIDTH, sd=(3.0,) * WIDTH)
    z = (rows() - 0.7) / 3.0
    seen = np.array(now.mean) + np.array(now.sd) * z
    mutant = mutate(made, stale)
    assert mutant.act(rows()) == pytest.approx(seen @ w, abs=1e-5)
    assert mutant.contract.normaliser == NormaliserRecord(mean=stale.mean, sd=stale.sd)


def test_extra_delay(policy):
    made, w = policy
    late = mutate(made, ExtraDelay(steps=2))
    late.reset()
    said = [rows(seed) @ w for seed in range(4)]
    found = [late.act(rows(seed)) for seed in range(4)]
    assert (np.array(found[:2]) == 0).all()
    assert found[2] == pytest.approx(said[0], abs=1e-5)
    assert found[3] == pytest.approx(said[1], abs=1e-5)
    late.reset(np.array([True, False, False]))
    begun = late.act(rows())
    assert (begun[0] == 0).all()
    assert begun[1:] == pytest.approx(said[2][1:], abs=1e-5)


def test_degrees_are_those_of_the_raw_signal(tmp_path):
    """(57.3·s − offset)·scale of columns with an offset and a scale."""
    terms = (
        Linear(
            name="angles",
            signals=("hip.position", "knee.position"),
            offset=(0.5, -1.0),
            scale=(2.0, 4.0),
        ),
        Linear(name="torque", signals=("hip.torque",)),
    )
    made, w = load_linear(tmp_path, leg(terms=terms, normaliser=None))
    hip, knee, torque = 0.3, 0.2, 7.0
    x = np.array([(hip - 0.5) * 2, (knee + 1) * 4, torque])
    wrong = np.array([(np.degrees(hip) - 0.5) * 2, (knee + 1) * 4, torque])
    found = mutate(made, Degrees(joints=("hip",))).act(x)
    assert found == pytest.approx(wrong @ w, rel=1e-5)


def test_a_turn_is_flipped_in_its_sine_and_swapped_as_a_whole(tmp_path):
    terms = (SineCosine(name="turn", signals=("hip.position", "knee.position")),)
    made, w = load_linear(tmp_path, leg(terms=terms, normaliser=None))
    x = np.array([1.0, 2.0, 3.0, 4.0])
    flip = FlippedSign(joint="knee", side=FaultSide.OBSERVATION)
    assert mutate(made, flip).act(x) == pytest.approx(x * [1, -1, 1, 1] @ w, rel=1e-5)
    swap = SwappedJoints(first="hip", second="knee", side=FaultSide.OBSERVATION)
    found = mutate(made, swap).act(x)
    assert found == pytest.approx(x[[1, 0, 3, 2]] @ w, rel=1e-5)


def test_joints_in_terms_of_their_own_are_swapped_too(tmp_path):
    """Cart and pole: speeds can change places; a place and a turn cannot."""
    terms = (
        Linear(name="place", signals=("hip.position",)),
        SineCosine(name="angle", signals=("knee.position",)),
        Linear(name="hip", signals=("hip.velocity",), scale=(0.1,)),
        Linear(name="knee", signals=("knee.velocity",), scale=(0.2,)),
    )
    made, w = load_linear(tmp_path, leg(terms=terms, normaliser=None))
    swap = SwappedJoints(first="hip", second="knee", side=FaultSide.OBSERVATION)
    assert swap in list_mutants(made.contract)
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    found = mutate(made, swap).act(x)
    assert found == pytest.approx(x[[0, 1, 2, 4, 3]] @ w, rel=1e-5)
    told = miswire(made.contract, swap).terms
    assert [term.signals[0] for term in told[2:]] == ["knee.velocity", "hip.velocity"]
    assert [term.scale for term in told[2:]] == [(0.2,), (0.1,)]  # type: ignore


def test_one_of_every_kind_is_listed_and_parity_finds_each(policy):
    made, _ = policy
    mutants = list_mutants(made.contract)
    kinds = {(type(m), getattr(m, "side", None)) for m in mutants}
    assert len(kinds) == len(mutants) == 8
    assert is_same(made)
    for mutant in mutants:
        assert not is_same(mutate(made, mutant)), mutant
        assert measure_parity(mutate(made, mutant)) > 0.1
    assert is_same(made)


@pytest.mark.parametrize(
    "mutant",
    [m for m in list_mutants(leg()) if not isinstance(m, UNSAID)],
    ids=lambda m: type(m).__name__,
)
def test_a_miswired_contract_is_the_mutant_that_it_describes(tmp_path, mutant):
    """Commands by the wrong contract are those of the right one and a mutant."""
    angles = msgspec.structs.replace(
        leg().terms[0], offset=(0.1, 0.2, 0.3), scale=(1.0, 2.0, 3.0)
    )
    made, _ = load_linear(tmp_path, leg(terms=(angles, *leg().terms[1:])))
    names = [f"{j}.{k}" for j in JOINTS for k in ("position", "velocity")]
    names += [*ORIENTATION, "command.forward", *ACTION.names]
    signals = 0.2 * np.random.default_rng(3).normal(size=(4, len(names)))
    right, wrong = made.contract, miswire(made.contract, mutant)
    commands = []
    for told, policy in ((right, mutate(made, mutant)), (wrong, made)):
        observer = Observer(told.terms, told.action, names)
        actions = [policy.act(observer.observe(step)) for step in signals]
        sent = told.action.compute(actions[-1])
        commands.append(dict(zip(told.action.commands, sent, strict=True)))
    for name, value in commands[0].items():
        assert commands[1][name] == pytest.approx(value, rel=1e-4, abs=1e-4)


def test_what_a_contract_cannot_say_is_refused():
    for mutant in (ExtraDelay(steps=1), ReversedHistory()):
        with pytest.raises(RealworthyError, match="no words for"):
            miswire(leg(), mutant)


def test_faults_that_change_nothing_are_refused(tmp_path):
    flat = tuple(msgspec.structs.replace(t, history=1) for t in leg().terms)
    made, _ = load_linear(tmp_path, leg(terms=flat, normaliser=None))
    assert ReversedHistory() not in list_mutants(made.contract)
    with pytest.raises(RealworthyError, match="changes nothing"):
        mutate(made, ReversedHistory())
    with pytest.raises(RealworthyError, match="changes nothing"):
        mutate(made, FlippedSign(joint="elbow", side=FaultSide.OBSERVATION))
    with pytest.raises(UnknownName, match="elbow"):
        mutate(made, FlippedSign(joint="elbow", side=FaultSide.ACTION))
    stale = StaleNormaliser(mean=(0.0,) * made.contract.width, sd=(1.0,))
    with pytest.raises(RealworthyError, match="none can be made stale"):
        mutate(made, stale)
