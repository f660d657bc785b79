"""Tables on twins: right numbers, right operations, right distributions, no growth."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from realworthy.errors import RealworthyError
from realworthy.parameters import (
    Belief,
    Categorical,
    Fixed,
    GaussianBelief,
    IndependentBelief,
    LogUniform,
    Marginal,
    Operation,
    SampleBelief,
    TruncatedNormal,
    Uniform,
)
from realworthy.parameters.marginals import is_discrete
from realworthy.parameters.published_tables import (
    ASAP_G1,
    GRASPING,
    HUMANOID,
    LAIKAGO_2020,
    PENG_2018,
    RMA_A1,
    TABLES,
    PublishedTable,
    Row,
    Whose,
)
from realworthy.simulators import MujocoCpu
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.tables import (
    Tabled,
    apply_table,
    from_belief,
    widen,
)
from realworthy.twins import bind, load_twin
from realworthy.twins.twin import Twin


@pytest.fixture(scope="module")
def quadruped() -> Twin:
    return load_twin("quadruped")


@pytest.fixture(scope="module")
def pendulum() -> Twin:
    return load_twin("pendulum")


def belief_of(tabled: Tabled) -> IndependentBelief:
    belief = tabled.randomization.belief
    assert isinstance(belief, IndependentBelief)
    return belief


def test_factors_are_of_each_links_own_nominal(quadruped: Twin) -> None:
    marginals = belief_of(apply_table(PENG_2018, quadruped)).marginals
    mass = quadruped.space["FL_calf.mass"].nominal
    # [0.25, 4]× spans more than 2×, so 1/4 and 4 are equally likely.
    assert marginals["FL_calf.mass"] == LogUniform(0.25 * mass, 4 * mass)
    moderate = belief_of(apply_table(ASAP_G1, quadruped)).marginals
    assert moderate["FL_calf.mass"] == Uniform(0.8 * mass, 1.2 * mass)
    assert "all.mass" not in marginals


def test_values_are_set_and_differences_added(quadruped: Twin) -> None:
    marginals = belief_of(apply_table(RMA_A1, quadruped)).marginals
    trunk = quadruped.space["trunk.mass"].nominal
    assert marginals["trunk.mass"] == Uniform(trunk, trunk + 6.0)
    assert marginals["RR_hip.kp"] == Uniform(50.0, 60.0)
    assert marginals["all.contact_friction"] == Uniform(0.05, 4.5)
    shift = belief_of(apply_table(ASAP_G1, quadruped)).marginals
    x = quadruped.space["trunk.centre_of_mass.x"].nominal
    assert shift["trunk.centre_of_mass.x"] == Uniform(x - 0.1, x + 0.1)
    assert "FL_calf.centre_of_mass.x" not in shift


def test_steps_become_seconds_of_the_control_period(quadruped: Twin) -> None:
    marginals = belief_of(apply_table(ASAP_G1, quadruped, period=0.02)).marginals
    assert marginals["all.delay"] == Categorical((0.0, 0.02, 0.04))
    slow = apply_table(HUMANOID, quadruped, period=0.05)
    assert belief_of(slow).marginals["all.delay"] == Categorical((0.0, 0.05, 0.1))
    assert any("'all.delay' ends at 0.1 s" in line for line in slow.left_out)


def test_noise_of_joints_is_not_noise_of_the_base(quadruped: Twin) -> None:
    marginals = belief_of(apply_table(HUMANOID, quadruped)).marginals
    assert marginals["FL_calf.position.sensor_noise"] == Fixed(0.01)
    assert marginals["base.gyro.sensor_noise"] == Fixed(0.02)
    assert "base.position.sensor_noise" not in marginals


def test_pushes_come_along(quadruped: Twin) -> None:
    pushes = apply_table(ASAP_G1, quadruped).randomization.pushes
    assert pushes is not None
    assert (pushes.speed, pushes.every) == (1.0, (5.0, 10.0))
    assert apply_table(RMA_A1, quadruped).randomization.pushes is None


def test_what_a_twin_lacks_is_left_out_and_said(quadruped: Twin) -> None:
    left_out = apply_table(PENG_2018, quadruped).left_out
    assert left_out[0] == (
        "mass [0.1, 0.4]: twin 'quadruped' has no mass on a loose object."
    )
    assert any(line.startswith("table_height") for line in left_out)
    assert apply_table(LAIKAGO_2020, quadruped).left_out == (
        "rotational_inertia ×[0.5, 1.5]: twin 'quadruped' has no rotational_inertia on"
        " any part of the robot.",
        "strength ×[0.8, 1.2]: twin 'quadruped' has no strength on any part of the"
        " robot.",
        "supply_voltage [14, 16.8]: twin 'quadruped' has no supply_voltage on any part"
        " of the robot.",
    )


def test_a_multiple_of_zero_is_left_out_and_said() -> None:
    drive = load_twin("diffdrive")  # whose wheels have no damping
    tabled = apply_table(PENG_2018, drive)
    assert "left_wheel.damping" not in belief_of(tabled).marginals
    assert any("'left_wheel.damping' is zero" in line for line in tabled.left_out)


def test_objects_are_not_links() -> None:
    twin = load_twin("bimanual")
    tabled = apply_table(HUMANOID, twin)
    marginals = belief_of(tabled).marginals
    assert marginals["box.mass"] == Uniform(0.1, 2.0)
    assert isinstance(
        belief_of(apply_table(GRASPING, twin)).marginals["box.mass"], Uniform
    )
    # Both rows would set the friction of the box; a model can hold one.
    assert any(
        "'box.contact_friction' is already moved by 'all.contact_friction'" in line
        for line in tabled.left_out
    )


def test_ranges_are_cut_where_a_parameter_ends(pendulum: Twin) -> None:
    table = PublishedTable(
        source="",
        rows=(
            Row("delay", 0.05, 0.3, whose=Whose.ALL),
            Row("mass", -2.0, -1.0),
            Row("kp", 50.0, 60.0, whose=Whose.ALL),
            Row("mass", 1.0, 2.0, whose=Whose.ALL),
        ),
    )
    tabled = apply_table(table, pendulum)
    assert belief_of(tabled).marginals == {"all.delay": Uniform(0.05, 0.1)}
    assert any("is cut to [0.05, 0.1]" in line for line in tabled.left_out)
    assert any("lies within [0, inf]" in line for line in tabled.left_out)
    assert tabled.left_out[-1] == (
        "mass [1, 2]: 'all.mass' is a factor, the row is of values."
    )


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("robot", ["pendulum", "diffdrive", "quadruped", "bimanual"])
def test_every_table_can_be_bound_to_every_robot(name: str, robot: str) -> None:
    twin = load_twin(robot)
    tabled = apply_table(TABLES[name], twin)
    belief = tabled.randomization.belief
    if belief is None:
        assert len(tabled.left_out) >= len(TABLES[name].rows)
    else:
        assert bind(twin, belief.space).space.names == belief.space.names


def find_p(draws: np.ndarray, marginal: Marginal) -> float:
    """Chance of draws so far from an entry: χ² of counts, else Kolmogorov–Smirnov."""
    if isinstance(marginal, Categorical):
        found = [int((draws == value).sum()) for value in marginal.values]
        assert sum(found) == len(draws)
        return float(stats.chisquare(found).pvalue)
    if isinstance(marginal, Fixed):
        return float((draws == marginal.value).all())
    assert isinstance(marginal, Uniform | LogUniform)
    if isinstance(marginal, Uniform):
        law = stats.uniform(marginal.lower, marginal.upper - marginal.lower)
    else:
        law = stats.loguniform(marginal.lower, marginal.upper)
    return float(stats.kstest(draws, law.cdf).pvalue)


@pytest.mark.parametrize("name", TABLES)
def test_draws_follow_every_entry(name: str, quadruped: Twin) -> None:
    """At 1e-3 for the whole table: of 119 entries alone, one in nine tables would fail.

    Chances of true draws are uniform themselves, which shows what no entry shows alone.
    """
    belief = belief_of(apply_table(TABLES[name], quadruped))
    samples = belief.sample(20_000, seed=11)
    pairs = list(zip(samples.T, belief.marginals.values(), strict=True))
    assert min(find_p(*pair) for pair in pairs) > 1e-3 / len(pairs)
    continuous = [find_p(*pair) for pair in pairs if not is_discrete(pair[1])]
    assert stats.kstest(continuous, "uniform").pvalue > 1e-3


def test_a_uniform_draw_of_a_wide_factor_would_be_caught(quadruped: Twin) -> None:
    belief = belief_of(apply_table(PENG_2018, quadruped)).marginal(["trunk.mass"])
    wide = belief.marginals["trunk.mass"]
    assert isinstance(wide, LogUniform)
    wrong = Uniform(wide.lower, wide.upper)
    drawn = IndependentBelief(belief.space, {"trunk.mass": wrong})
    assert find_p(drawn.sample(20_000, seed=11)[:, 0], wide) < 1e-3


def test_the_hundredth_reset_still_starts_from_the_pristine_model() -> None:
    twin = load_twin("pendulum")
    table = replace(PENG_2018, rows=(*PENG_2018.rows, Row("armature", 0.001, 0.002)))
    belief = belief_of(apply_table(table, twin))
    simulator = MujocoCpu(bind(twin, belief.space), 4)
    fields = ("body_mass", "dof_damping", "dof_armature")
    pristine = {name: getattr(twin.compiled.model, name).copy() for name in fields}
    columns = {
        "body_mass": "pendulum.mass",
        "dof_damping": "joint.damping",
        "dof_armature": "joint.armature",
    }
    for episode in range(100):
        samples = belief.sample(4, seed=3, episode=episode)
        simulator.write(samples)
        simulator.reset()
    for name, column in columns.items():
        found = simulator.field(name)[:, -1]
        expected = samples[:, belief.space.index(column)]
        assert found == pytest.approx(expected, rel=1e-12)
        parameter = twin.space[column]
        assert parameter.binding.operation is Operation.SET
        assert parameter.nominal == pytest.approx(pristine[name][-1])
        # Had factors compounded, a hundred of them would be far outside the range.
        marginal = belief.marginals[column]
        assert isinstance(marginal, Uniform | LogUniform)
        assert (found >= marginal.lower * (1 - 1e-9)).all()
        assert (found <= marginal.upper * (1 + 1e-9)).all()


def test_a_factor_for_all_multiplies_the_pristine_model_after_a_hundred_resets(
    quadruped: Twin,
) -> None:
    row = Row("mass", 0.25, 4.0, Operation.SCALE, Whose.ALL)
    table = PublishedTable(source="", rows=(row,))
    belief = belief_of(apply_table(table, quadruped))
    assert belief.marginals == {"all.mass": LogUniform(0.25, 4.0)}
    assert belief.space["all.mass"].binding.operation is Operation.SCALE
    simulator = MujocoCpu(bind(quadruped, belief.space), 3)
    for episode in range(100):
        samples = belief.sample(3, seed=3, episode=episode)
        simulator.write(samples)
        simulator.reset()
    expected = samples * quadruped.compiled.model.body_mass
    assert simulator.field("body_mass") == pytest.approx(expected, rel=1e-12)


def test_e_is_the_same_at_any_thread_count_and_world_count(pendulum: Twin) -> None:
    randomization = apply_table(PENG_2018, pendulum).randomization

    def run(world_count: int, thread_count: int) -> np.ndarray:
        worlds = TaskWorlds(
            PendulumSwingUp(pendulum),
            world_count,
            randomization=randomization,
            seed=9,
            thread_count=thread_count,
        )
        drawn = [worlds.e[:5]]
        for _ in range(3):
            worlds.reset()
            drawn.append(worlds.e[:5])
        return np.array(drawn)

    first = run(5, 1)
    assert np.array_equal(first, run(5, 2))
    assert np.array_equal(first, run(12, 2))
    assert len(np.unique(first[:, :, 0])) == first[:, :, 0].size


def test_a_posterior_is_inflated_and_keeps_its_correlation(pendulum: Twin) -> None:
    space = pendulum.space.select(["pendulum.mass", "joint.damping"])
    sd, rho = np.array([0.05, 0.08]), 0.9
    covariance = np.outer(sd, sd) * np.array([[1, rho], [rho, 1]])
    mean_z = space.to_z(space.nominal)
    twin = pendulum.with_belief(GaussianBelief(space, mean_z, covariance))
    belief = from_belief(twin, inflate=2.5, floor=0.02).belief
    assert isinstance(belief, GaussianBelief)
    assert belief.covariance_z == pytest.approx(6.25 * covariance)
    assert belief.correlation()[0, 1] == pytest.approx(rho)
    assert belief.mean_z == pytest.approx(mean_z)


def test_no_parameter_is_surer_than_the_floor(pendulum: Twin) -> None:
    names = ["pendulum.mass", "pendulum.centre_of_mass.z", "all.delay"]
    space = pendulum.space.select(names)
    e = np.array([0.6, -0.4, 0.03])
    mean_z = space.to_z(e)
    belief = GaussianBelief(space, mean_z, np.diag([1e-10, 1e-10, 1e-10]))
    twin = pendulum.with_belief(belief)
    wide = from_belief(twin, inflate=2.5, floor=0.02).belief
    assert wide is not None
    for name, value in zip(names, e, strict=True):
        assert wide.sd[name] == pytest.approx(0.02 * abs(value), rel=0.05)


def test_a_delay_that_may_as_well_be_zero_stays_as_wide_as_it_was(
    pendulum: Twin,
) -> None:
    """Half of a billionth of a second is no width, and breaks the covariance."""
    space = pendulum.space.select(["joint.damping", "pendulum.mass", "all.delay"])
    sd = np.array([2.0, 0.01, 3e-5])  # damping is not told: it is held in
    rho = np.array([[1.0, 0.9, 0.8], [0.9, 1.0, 0.9], [0.8, 0.9, 1.0]])
    mean_z = space.to_z(np.array([0.1, 0.6, 1e-9]))
    belief = GaussianBelief(space, mean_z, np.outer(sd, sd) * rho)
    wide = from_belief(pendulum.with_belief(belief), floor=0.0).belief
    assert isinstance(wide, GaussianBelief)
    found = np.sqrt(np.diag(wide.covariance_z))
    assert found[0] < 0.5
    # What damping was held by, it takes along: for ρ 0.8 no more than 1 - 0.8² stay
    # of a variance, and 2.5 times the sd is the most.
    assert 2.5 * math.sqrt(1 - 0.8**2) * 3e-5 < found[2] < 2.5 * 3e-5


def test_a_twin_without_a_calibration_is_refused(pendulum: Twin) -> None:
    with pytest.raises(RealworthyError, match="was not calibrated"):
        from_belief(pendulum)


def test_every_kind_of_belief_can_be_widened(pendulum: Twin) -> None:
    names = ["pendulum.mass", "joint.damping", "joint.armature", "all.delay"]
    space = pendulum.space.select(names)
    belief = IndependentBelief(
        space,
        {
            "pendulum.mass": Uniform(0.5, 0.6),
            "joint.damping": LogUniform(0.1, 0.4),
            "joint.armature": TruncatedNormal(0.01, 0.001, 0.0),
            "all.delay": Categorical((0.0, 0.01)),
        },
    )
    wide = widen(belief, inflate=2.0, floor=0.02)
    assert isinstance(wide, IndependentBelief)
    mass, damping, armature, delay = wide.marginals.values()
    assert isinstance(mass, Uniform)
    assert (mass.lower, mass.upper) == pytest.approx((0.45, 0.65))
    assert isinstance(damping, LogUniform)
    # 0.2 · 2^±1 becomes 0.2 · 2^±2.
    assert (damping.lower, damping.upper) == pytest.approx((0.05, 0.8))
    assert isinstance(armature, TruncatedNormal)
    assert armature.sd == pytest.approx(0.002)
    assert delay == Categorical((0.0, 0.01))
    known = IndependentBelief(space, {"pendulum.mass": Fixed(0.5)})
    assert widen(known, inflate=2.0, floor=0.02).sd["pendulum.mass"] == pytest.approx(
        0.01, rel=1e-3
    )
    rows = belief.sample(4_000, seed=0)
    rows[:, 3] = 0.005 + rows[:, 3] / 10
    cloud: Belief = SampleBelief(space, rows, np.ones(len(rows)))
    assert widen(cloud, inflate=2.0, floor=0.0).sd["pendulum.mass"] == pytest.approx(
        2 * 0.1 / math.sqrt(12), rel=0.05
    )
