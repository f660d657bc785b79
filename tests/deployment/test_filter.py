"""Every command that leaves the filter keeps every limit; otherwise none leaves it."""

from dataclasses import replace

import numpy as np
import pytest

from realworthy.deployment.decision import GuardVerdict
from realworthy.deployment.drives import Drives
from realworthy.deployment.filter import Activations, CommandFilter, FilterSettings
from realworthy.errors import RealworthyError

PERIOD = 0.02
COUNT = 400_000


def make(kind: str = "position", width: int = 1, **more: object) -> Drives:
    """Drives of ±1 rad, 2 rad/s, 10 rad/s², 3 N·m, kp 20, kd 0.5."""

    def fill(value: float) -> np.ndarray:
        return np.full(width, value)

    values = {
        "command_lower": fill(-np.inf),
        "command_upper": fill(np.inf),
        "lower": fill(-1.0),
        "upper": fill(1.0),
        "speed": fill(2.0),
        "acceleration": fill(10.0),
        "torque": fill(3.0),
        "kp": fill(20.0),
        "kd": fill(0.5),
    }
    for name, value in more.items():
        values[name] = np.broadcast_to(np.asarray(value, dtype=float), (width,))
    return Drives(
        commands=tuple(f"j{i}.command" for i in range(width)),
        kind=kind,  # pyright: ignore
        joints=tuple(range(width)),
        **values,  # pyright: ignore
    )


def draw(kind: str, seed: int) -> tuple[Drives, dict[str, np.ndarray]]:
    """Random drives and states, from well-behaved to absurd."""
    rng = np.random.default_rng(seed)
    width = COUNT
    reach = rng.uniform(0.1, 3, width)
    middle = rng.normal(0, 1, width)
    drives = make(
        kind,
        width,
        lower=np.where(rng.random(width) < 0.1, -np.inf, middle - reach),
        upper=np.where(rng.random(width) < 0.1, np.inf, middle + reach),
        speed=np.where(rng.random(width) < 0.1, np.inf, rng.uniform(0.1, 20, width)),
        acceleration=np.where(
            rng.random(width) < 0.1, np.inf, rng.uniform(0.5, 200, width)
        ),
        torque=np.where(rng.random(width) < 0.1, np.inf, rng.uniform(0.1, 80, width)),
        kp=np.where(rng.random(width) < 0.1, 0.0, rng.uniform(1, 300, width)),
        kd=rng.uniform(0, 5, width),
        command_lower=np.where(rng.random(width) < 0.5, -np.inf, -4.0),
        command_upper=np.where(rng.random(width) < 0.5, np.inf, 4.0),
    )
    q = middle + rng.uniform(-1.3, 1.3, width) * reach
    dq = rng.normal(0, 1, width) * rng.choice([0.0, 0.1, 1.0, 10.0], width)
    last = q + rng.normal(0, 1, width) * rng.choice([0.0, 0.01, 0.1, 1.0], width)
    if kind != "position":
        last = rng.normal(0, 2, width)
    target = q + rng.normal(0, 1, width) * rng.choice([0.0, 0.1, 1.0, 100.0], width)
    return drives, {"q": q, "dq": dq, "last": last, "target": target}


def limit(drives: Drives, state: dict[str, np.ndarray], share: float) -> list[tuple]:
    """What a command must keep, written anew: (name, least, most) of each joint."""
    q, dq, last = state["q"], state["dq"], state["last"]
    half = 0.95 * (drives.upper - drives.lower) / 2
    middle = (drives.upper + drives.lower) / 2
    bounded = np.isfinite(half)
    low = np.where(bounded, middle - half, drives.lower)
    high = np.where(bounded, middle + half, drives.upper)
    brake = dq**2 / 2 / drives.acceleration
    if drives.kind == "velocity":
        most = share * drives.speed
        room_up, room_down = np.maximum(high - q, 0), np.maximum(q - low, 0)
        # v within one period, and v²/a within the room
        up = np.minimum(room_up / PERIOD, np.sqrt(room_up * drives.acceleration))
        down = np.minimum(room_down / PERIOD, np.sqrt(room_down * drives.acceleration))
        up, down = np.nan_to_num(up, posinf=np.inf), np.nan_to_num(down, posinf=np.inf)
        step = drives.acceleration * PERIOD
        return [
            ("rate", last - step, last + step),
            ("speed", -most, most),
            ("range", drives.command_lower, drives.command_upper),
            ("position", -down, up),
        ]
    if drives.kind == "torque":
        over_up = q + np.where(dq > 0, brake, 0) >= high
        over_down = q - np.where(dq < 0, brake, 0) <= low
        inf = np.full(len(q), np.inf)
        return [
            ("range", drives.command_lower, drives.command_upper),
            ("torque", -drives.torque, drives.torque),
            ("outwards", np.where(over_down, 0, -inf), np.where(over_up, 0, inf)),
            (
                "speeding up",
                np.where(dq <= -share * drives.speed, 0, -inf),
                np.where(dq >= share * drives.speed, 0, inf),
            ),
        ]
    reach = np.where(drives.kp > 0, drives.torque / drives.kp, np.inf)
    lean = np.where(drives.kp > 0, drives.kd * dq / drives.kp, 0)
    lean = np.nan_to_num(lean)
    window = np.where(np.isfinite(reach), reach, 0.1)
    step = share * drives.speed * PERIOD
    return [
        ("rate", last - step, last + step),
        ("tracking", q - window, q + window),
        ("torque", q + lean - reach, q + lean + reach),
        ("range", drives.command_lower, drives.command_upper),
        (
            "position",
            low + np.where(dq < 0, brake, 0),
            high - np.where(dq > 0, brake, 0),
        ),
    ]


def choose(drives: Drives, places: np.ndarray) -> Drives:
    arrays = {
        name: getattr(drives, name)[places]
        for name in (
            "command_lower",
            "command_upper",
            "lower",
            "upper",
            "speed",
            "acceleration",
            "torque",
            "kp",
            "kd",
        )
    }
    count = len(places)
    names = tuple(f"j{i}.command" for i in range(count))
    return replace(drives, commands=names, joints=tuple(range(count)), **arrays)


@pytest.mark.parametrize("kind", ["position", "velocity", "torque"])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_every_command_keeps_every_limit(kind: str, share: float):
    """400,000 random joints, over 100,000 of which can be commanded; else a fault."""
    drives, state = draw(kind, seed=7)
    with np.errstate(all="ignore"):
        bounds = limit(drives, state, share)
    least = np.max([low for _, low, _ in bounds], axis=0)
    most = np.min([high for _, _, high in bounds], axis=0)
    tight = 1e-9 * (1 + np.abs(least) + np.abs(most))
    possible = np.flatnonzero(most - least > np.nan_to_num(tight, posinf=0.0))
    impossible = np.flatnonzero(least - most > np.nan_to_num(tight, posinf=0.0))
    assert len(possible) > 100_000
    chosen = choose(drives, possible)
    filter_ = CommandFilter(chosen, PERIOD)
    filter_.reset(state["last"][possible])
    found = filter_.apply(
        state["target"][possible],
        state["q"][possible],
        state["dq"][possible],
        speed_share=share,
    )
    assert found.command is not None
    assert found.decision.verdict is GuardVerdict.GO
    for name, low, high in bounds:
        slack = 1e-9 * (1 + np.abs(state["q"][possible]))
        assert (found.command >= low[possible] - slack).all(), name
        assert (found.command <= high[possible] + slack).all(), name
    free = (state["target"][possible] > least[possible]) & (
        state["target"][possible] < most[possible]
    )
    if kind == "position":  # what needs no change is not changed
        assert free.sum() > 1000
        assert (found.command == state["target"][possible])[free].all()
    if kind == "torque":
        assert len(impossible) == 0
    for place in impossible[:300]:
        alone = choose(drives, np.array([place]))
        filter_ = CommandFilter(alone, PERIOD)
        filter_.reset(state["last"][[place]])
        values = (state[name][[place]] for name in ("target", "q", "dq"))
        found = filter_.apply(*values, speed_share=share)
        assert found.command is None
        assert found.decision.guard == "contradiction"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("place", ["target", "position", "velocity", "last"])
@pytest.mark.parametrize("kind", ["position", "velocity", "torque", "voltage"])
def test_what_is_not_a_number_is_a_fault_or_bounded(kind: str, place: str, bad: float):
    values = {name: np.zeros(2) for name in ("target", "position", "velocity", "last")}
    values[place] = np.array([0.0, bad])
    filter_ = CommandFilter(make(kind, 2, command_lower=-3, command_upper=3), PERIOD)
    filter_.reset(values["last"])
    found = filter_.apply(values["target"], values["position"], values["velocity"])
    if np.isfinite(bad) and found.command is not None:
        assert np.abs(found.command).max() <= 3
    else:
        assert found.command is None
        assert found.decision.verdict is GuardVerdict.DAMP
        assert found.decision.reason


def test_the_stages_by_hand():
    """κ 0.5 · 2 rad/s · 0.02 s = 0.02 rad; Δ = 3/20; τ: 0.15 + 0.5 · q̇/20."""
    filter_ = CommandFilter(make(), PERIOD)
    filter_.reset(np.zeros(1))
    zero = np.zeros(1)
    found = filter_.apply(np.ones(1), zero, zero, speed_share=0.5)
    assert found.command == pytest.approx([0.02])
    assert found.acted == ("rate",)
    # The joint ran away by 0.3: towards it, the window begins at 0.15.
    filter_.reset(np.array([0.14]))
    found = filter_.apply(zero, np.array([0.3]), zero)
    assert found.command == pytest.approx([0.15])
    assert found.acted == ("rate", "tracking")
    # At 1.5 rad/s it needs 0.1125 rad to stop before 0.95.
    filter_.reset(np.array([0.83]))
    found = filter_.apply(np.ones(1), np.array([0.8]), np.array([1.5]))
    assert found.command == pytest.approx([0.8375])
    assert found.acted == ("rate", "position")
    assert filter_.counts == {"rate": 3, "tracking": 1, "position": 1}


def test_what_leaves_the_filter_is_where_it_goes_on_from():
    """A target far away is approached step by step, and back again at once."""
    filter_ = CommandFilter(make(), PERIOD)
    filter_.reset(np.zeros(1))
    zero = np.zeros(1)
    sent = [filter_.apply(np.ones(1), zero, zero).command for _ in range(10)]
    assert sent[0] == pytest.approx([0.04])
    assert sent[-1] == pytest.approx([0.15])  # the window
    back = filter_.apply(-np.ones(1), zero, zero).command
    assert back == pytest.approx([0.11])  # not after winding down ten steps


def test_a_robot_that_rests_outside_its_range_can_be_led_back():
    filter_ = CommandFilter(make(), PERIOD)
    filter_.reset(np.array([1.2]))
    q, zero = np.array([1.2]), np.zeros(1)
    assert filter_.apply(np.zeros(1), q, zero).command is None
    widened = filter_.apply(np.zeros(1), q, zero, widen=(q, q))
    assert widened.command == pytest.approx([1.16])


def test_a_drive_that_rests_at_an_end_may_be_told_to_stay_there():
    drives = make("position", 2, rest=np.array([-1.0, np.nan]))
    gate = CommandFilter(drives, 0.02)
    gate.reset(np.array([-1.0, -0.95]))
    moving_out = np.array([-0.05, 0.0])
    found = gate.apply(np.array([-1.0, -0.98]), np.array([-1.0, -0.95]), moving_out)
    assert found.command is not None
    np.testing.assert_allclose(found.command, [-1.0, -0.95])
    assert found.acted == ("position",)  # for the other drive, which does not rest
    alone = make("position", 1, rest=np.array([-1.0]))
    gate = CommandFilter(alone, 0.02)
    gate.reset(np.array([-1.0]))
    found = gate.apply(np.array([-1.0]), np.array([-1.0]), np.array([-0.05]))
    assert found.acted == ()


def test_a_drive_that_comes_to_its_rest_fast_is_braked_before_the_end():
    drives = make("position", 1, rest=np.array([-1.0]))
    gate = CommandFilter(drives, 0.02)
    gate.reset(np.array([-0.98]))
    speed = -0.5
    found = gate.apply(np.array([-1.0]), np.array([-0.98]), np.array([speed]))
    assert found.command is not None
    stopping = speed**2 / (2 * drives.acceleration[0])
    assert stopping > 0.01  # rad
    assert found.command == pytest.approx([-1.0 + stopping])


def test_a_rest_beyond_the_range_moves_no_limit_beyond_it():
    drives = make("position", 1, rest=np.array([-3.0]))
    gate = CommandFilter(drives, 0.02)
    gate.reset(drives.lower.copy())
    found = gate.apply(np.array([-3.0]), drives.lower.copy(), np.zeros(1))
    assert found.command is not None
    assert found.command[0] >= drives.lower[0]


def test_a_filter_that_does_not_know_where_the_robot_is_sends_nothing():
    found = CommandFilter(make(), PERIOD).apply(*(np.zeros(1),) * 3)
    assert found.command is None


def test_a_policy_that_leans_on_its_limits_is_stopped():
    activations = Activations(PERIOD, FilterSettings())
    for _ in range(10):  # a fifth of a second's 50 steps
        assert activations.judge(("torque",), expected=()).verdict is GuardVerdict.GO
    stopped = activations.judge(("torque",), expected=())
    assert stopped.verdict is GuardVerdict.DAMP
    assert "torque acted in 22% of the last 1 s" in stopped.reason
    activations = Activations(PERIOD, FilterSettings())
    for _ in range(50):
        found = activations.judge(("rate",), expected=("rate",))
        assert found.verdict is GuardVerdict.GO


def test_limits_that_are_nonsense_are_refused():
    with pytest.raises(RealworthyError, match="above its upper"):
        make(lower=2.0)
    with pytest.raises(RealworthyError, match="speed must be above 0"):
        make(speed=np.nan)
    with pytest.raises(RealworthyError, match="Gains"):
        make(kp=-1.0)
    with pytest.raises(RealworthyError, match="soft_range"):
        FilterSettings(soft_range=0)


EXTREME = np.array([0.0, 5e-324, 1e-300, 1e9, 1e153, 1e155, 1e308, np.inf, np.nan])


@pytest.mark.parametrize("kind", ["position", "velocity", "torque", "voltage"])
def test_whatever_comes_in_a_finite_command_in_range_comes_out_or_none(kind):
    """Some thousands of absurd numbers; `benchmarks/deployment.py` has a million."""
    rng = np.random.default_rng(5)
    one = np.ones(1)
    for _ in range(8):
        speed, acceleration = np.where(rng.random((2, 1)) < 0.4, np.inf, 3.0)
        drives = Drives(
            commands=("joint.command",),
            kind=kind,
            joints=(0,),
            command_lower=-2 * one,
            command_upper=2 * one,
            lower=-one,
            upper=one,
            speed=speed,
            acceleration=acceleration,
            torque=1.5 * one,
            kp=10 * one,
            kd=one,
        )
        gate = CommandFilter(drives, 0.02)
        gate.reset(np.zeros(1))
        sign = rng.choice([-1.0, 1.0], (500, 3))
        cases = np.where(
            rng.random((500, 3)) < 0.5,
            sign * rng.choice(EXTREME, (500, 3)),
            rng.normal(0, 1.5, (500, 3)),
        )
        for target, q, dq in cases:
            found = gate.apply(*(np.array([x]) for x in (target, q, dq))).command
            if found is None:
                continue
            assert np.isfinite([target, q, dq]).all()
            assert abs(found[0]) <= 2.0
            if kind != "position":  # nothing outwards where a joint is beyond its end
                assert not (q >= 1 and found[0] > 0)
                assert not (q <= -1 and found[0] < 0)


def test_a_speed_beyond_all_numbers_lets_no_torque_outwards():
    """q̇² overflows and so does what it is divided by: ∞/∞ is no number."""
    one, endless = np.ones(1), np.full(1, np.inf)
    drives = Drives(
        commands=("joint.command",),
        kind="torque",
        joints=(0,),
        command_lower=-12 * one,
        command_upper=12 * one,
        lower=-one,
        upper=one,
        speed=endless,
        acceleration=endless,
        torque=12 * one,
        kp=0 * one,
        kd=0 * one,
    )
    gate = CommandFilter(drives, 0.02)
    for q, dq in ((1.5, 1e200), (1.5, 1e-200), (-1.5, -1e200)):
        gate.reset(np.zeros(1))
        for target in (12.0, -12.0):
            found = gate.apply(target * one, q * one, dq * one).command
            assert found is not None
            assert found[0] * q <= 0


def test_drives_of_several_kinds_keep_each_its_own_limits():
    """A servo, a motor and a drive whose joint nobody knows."""
    drives = Drives(
        commands=("a.command", "b.command", "c.command"),
        kind=None,
        kinds=("position", "torque", "position"),
        joints=(0, 1, -1),
        command_lower=np.array([-3.0, -9.0, 0.0]),
        command_upper=np.array([3.0, 9.0, 5.0]),
        lower=np.array([-2.0, -2.0, -np.inf]),
        upper=np.array([2.0, 2.0, np.inf]),
        speed=np.array([1.0, np.inf, np.inf]),
        acceleration=np.array([10.0, 10.0, np.inf]),
        torque=np.array([4.0, 4.0, np.inf]),
        kp=np.array([10.0, 0.0, 0.0]),
        kd=np.zeros(3),
    )
    gate = CommandFilter(drives, 0.02)
    gate.reset(np.array([0.0, 0.0, 1.0]))
    found = gate.apply(np.full(3, 99.0), np.zeros(2), np.zeros(2))
    assert found.command == pytest.approx([0.02, 4.0, 5.0])  # rate, torque, range
    assert set(found.acted) == {"rate", "torque", "position"}
