"""What holds for every law: numpy and torch agree, nothing given is changed."""

import copy

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from realworthy.actuators import (
    Actuator,
    ActuatorLaw,
    ActuatorOutput,
    Array,
    BadActuator,
    ControllerPosition,
    ControllerTorque,
    State,
    build_law,
)
from realworthy.errors import UnknownParameter

from .examples import EXAMPLES

WORLDS = 6


def walk(
    law: ActuatorLaw, like: Array, random: np.random.Generator
) -> list[ActuatorOutput]:
    """Outputs of twenty steps of random commands, motions and numbers."""

    def draw(*shape: int) -> Array:
        values = random.normal(size=shape)
        return (
            torch.as_tensor(values).to(like)
            if torch.is_tensor(like)
            else values.astype(like.dtype)
        )

    spread = {
        kind: draw(WORLDS) * 0.03 * value + value
        for kind, value in law.parameters.items()
        if kind not in ("delay", "max_duty")
    }
    state, outputs = law.initial_state(WORLDS, like), []
    for _ in range(20):
        joint = draw(WORLDS), 5 * draw(WORLDS), draw(WORLDS)
        out = law.step(draw(WORLDS, len(law.inputs)), *joint, spread, state)
        state = out.state
        outputs.append(out)
    return outputs


def list_arrays(outputs: list[ActuatorOutput]) -> list[Array]:
    rows = [(o.torque, o.friction, o.current, *o.state.values()) for o in outputs]
    return [array for row in rows for array in row if array is not None]


@pytest.mark.parametrize("name", EXAMPLES)
def test_numpy_and_torch_agree(name: str):
    law = build_law(EXAMPLES[name], timestep=0.002)
    ours, theirs = (
        list_arrays(walk(law, like, np.random.default_rng(3)))
        for like in (np.zeros(1), torch.zeros(1, dtype=torch.float64))
    )
    for a, b in zip(ours, theirs, strict=True):
        assert isinstance(b, torch.Tensor)
        assert a == pytest.approx(b.numpy(), rel=1e-6, abs=1e-9)
    assert np.isfinite(ours[-1]).all()


@pytest.mark.parametrize("name", EXAMPLES)
def test_single_precision_stays_single_and_close(name: str):
    law = build_law(EXAMPLES[name], timestep=0.002)
    double = list_arrays(walk(law, np.zeros(1), np.random.default_rng(3)))
    for like in (np.zeros(1, dtype=np.float32), torch.zeros(1)):
        single = list_arrays(walk(law, like, np.random.default_rng(3)))
        for a, b in zip(single, double, strict=True):
            assert a.dtype == like.dtype
            assert np.asarray(a) == pytest.approx(b, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("name", EXAMPLES)
def test_tensors_stay_on_their_device_and_no_number_is_read_back(name: str):
    law = build_law(EXAMPLES[name], timestep=0.002)
    like = torch.zeros(1, device="meta")  # a device whose values cannot be read
    for array in list_arrays(walk(law, like, np.random.default_rng(3))):
        assert array.device.type == "meta"


@pytest.mark.parametrize("name", EXAMPLES)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32 - 1), unpowered=st.booleans())
def test_arguments_stay_as_they_were(name: str, seed: int, unpowered: bool):
    law = build_law(EXAMPLES[name], timestep=0.002)
    random = np.random.default_rng(seed)
    state = walk(law, np.zeros(1), random)[-1].state
    given_arrays = {
        "command": random.normal(size=(WORLDS, len(law.inputs))),
        "position": random.normal(size=WORLDS),
        "velocity": random.normal(size=WORLDS),
        "load": random.normal(size=WORLDS),
        "parameters": {"strength": random.uniform(0.5, 1.5, WORLDS)},
        "state": state,
        "powered": random.random(WORLDS) < 0.5 if unpowered else None,
    }
    before = copy.deepcopy(given_arrays)
    out = law.step(**given_arrays)
    primed = law.prime(
        state, given_arrays["command"], worlds=np.arange(WORLDS) % 2 == 0
    )
    for name_given, value in before.items():
        assert_same(given_arrays[name_given], value)
    for array in (*out.state.values(), *primed.values(), out.torque, out.friction):
        array[...] = np.nan  # nothing returned shares memory with what was given
    for name_given, value in before.items():
        assert_same(given_arrays[name_given], value)


def assert_same(a: object, b: object) -> None:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in b:
            assert_same(a[key], b[key])
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", EXAMPLES)
def test_numbers_per_world_equal_a_law_built_with_them(name: str, random):
    nominal = build_law(EXAMPLES[name], timestep=0.002)
    tree = msgspec.to_builtins(EXAMPLES[name])
    changed = {kind: 0.8 * value for kind, value in nominal.parameters.items()}

    def edit(branch: dict) -> dict:
        edited = {}
        for key, value in branch.items():
            known = changed.get(key, value) if value is not None else None
            edited[key] = edit(value) if isinstance(value, dict) else known
        return edited

    tree = edit(tree) | {"delay_limit": EXAMPLES[name].get_delay_limit()}
    other = build_law(msgspec.convert(tree, Actuator), timestep=0.002)
    assert other.structure == nominal.structure
    per_world = {kind: np.full(3, value) for kind, value in changed.items()}
    nominal.check_parameters(per_world)
    states: list[State] = [
        law.initial_state(3, np.zeros(3)) for law in (nominal, other)
    ]
    for _ in range(8):
        command = random.normal(size=(3, len(nominal.inputs)))
        joint = random.normal(size=(3, 3))
        a = nominal.step(command, *joint, per_world, states[0])
        b = other.step(command, *joint, {}, states[1])
        states = [a.state, b.state]
        assert a.torque == pytest.approx(b.torque)
        assert a.friction == pytest.approx(b.friction)


def test_laws_of_another_structure_are_told_apart():
    structures = {build_law(a, timestep=0.002).structure for a in EXAMPLES.values()}
    assert len(structures) == len(EXAMPLES)
    later = msgspec.structs.replace(EXAMPLES["velocity"], delay=0.009)
    assert build_law(later, timestep=0.002).structure not in structures
    limp = msgspec.structs.replace(EXAMPLES["position"], torque_limit=None)
    assert build_law(limp, timestep=0.002).structure not in structures


def test_a_primed_delay_answers_with_the_primed_command():
    actuator = Actuator(joint="a", controller=ControllerTorque(), delay=0.01)
    law = build_law(actuator, timestep=0.002)
    zero = np.zeros(2)
    state = law.initial_state(2, zero)
    primed = law.prime(state, np.full((2, 1), 3.0), worlds=np.array([False, True]))
    torques = []
    for _ in range(7):
        out = law.step(np.full((2, 1), 5.0), zero, zero, zero, {}, primed)
        primed = out.state
        torques.append(out.torque.tolist())
    assert torques == pytest.approx(np.array([[0.0, 3.0]] * 5 + [[5.0, 5.0]] * 2))


def test_limits_bend_and_then_clip_the_torque():
    def deliver(**limits: float) -> float:
        law = build_law(
            Actuator(joint="a", controller=ControllerTorque(), **limits), timestep=0.001
        )
        zero = np.zeros(1)
        state = law.initial_state(1, zero)
        return law.step(np.full((1, 1), 30.0), zero, zero, zero, {}, state).torque[0]

    assert deliver(soft_saturation=20.0) == pytest.approx(20.0 * np.tanh(1.5))
    assert deliver(torque_limit=12.0) == 12.0
    assert deliver(torque_limit=12.0, strength=0.1) == pytest.approx(3.0)


def test_wrong_numbers_are_refused_before_the_loop():
    law = build_law(
        Actuator(joint="hip", controller=ControllerPosition(kp=20.0)), timestep=0.001
    )
    with pytest.raises(UnknownParameter, match=r"'hip' has no parameter 'k_p'"):
        law.check_parameters({"k_p": np.ones(2)})
    with pytest.raises(BadActuator) as refusal:
        law.check_parameters({"kp": np.array([5.0, -1.0])})
    assert str(refusal.value) == (
        "actuator of 'hip': kp is -1; it must be above 0.\n  Its unit is N·m/rad."
    )
    with pytest.raises(BadActuator, match=r"kp is nan"):
        law.check_parameters({"kp": np.array([5.0, np.nan])})
    with pytest.raises(BadActuator, match=r"timestep is 0 s"):
        build_law(EXAMPLES["torque"], timestep=0.0)
