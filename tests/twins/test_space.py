"""What can be unknown about a twin, and what is believed of it by default."""

from pathlib import Path

import numpy as np
import pytest

from realworthy.actuators import (
    Actuator,
    ControllerDuty,
    ControllerPosition,
    FrictionM4,
    MotorDc,
)
from realworthy.errors import RealworthyError
from realworthy.parameters import GaussianBelief, Operation, Transform
from realworthy.twins import Twin, bind, builtin_names, load_twin
from realworthy.twins.space import find_parameter, groups
from realworthy.twins.writers import WRITERS, Group


def test_names_are_element_kind_and_component(arm: Twin):
    for name in ("lower.mass", "elbow.damping", "shoulder.kp", "all.delay"):
        assert name in arm.space
    assert "lower.centre_of_mass.z" in arm.space
    assert "elbow.position.sensor_bias" in arm.space
    assert arm.space["elbow.position.sensor_bias"].element == "elbow.position"


def test_nominals_are_those_of_the_model(arm: Twin):
    expected = {
        "lower.mass": 0.4,
        "elbow.damping": 0.1,
        "shoulder.kp": 30.0,
        "shoulder.kd": 2.0,
        "shoulder.torque_limit": 20.0,
        "elbow.torque_limit": 4.0,
        "world.gravity": 9.81,
        "all.mass": 1.0,
        "all.contact_friction": 1.0,
    }
    for name, value in expected.items():
        assert arm.space[name].nominal == pytest.approx(value), name


def test_all_is_a_factor_where_elements_differ_and_a_value_where_they_share(arm: Twin):
    assert arm.space["all.mass"].binding.operation is Operation.SCALE
    assert arm.space["all.delay"].binding.operation is Operation.SET
    assert arm.space["all.mass"].transform is Transform.LOG
    assert set(arm.space["all.damping"].binding.elements) == {"shoulder", "elbow"}


def test_one_parameter_is_found_without_listing_all(arm: Twin):
    compiled = bind(arm).compiled
    for parameter in arm.space:
        assert find_parameter(compiled, parameter.name, "arm") == parameter
    with pytest.raises(RealworthyError, match=r"arm has no parameter 'elbow\.dampin'"):
        find_parameter(compiled, "elbow.dampin", "arm")


def test_the_default_belief_is_moderate_and_around_the_nominals(arm: Twin):
    belief = arm.belief
    e = belief.sample(500, seed=1)
    masses = e[:, [belief.space.index(n) for n in ("upper.mass", "lower.mass")]]
    assert (masses >= 0.8 * np.array([0.8, 0.4])).all()
    assert (masses <= 1.2 * np.array([0.8, 0.4])).all()
    delay = e[:, belief.space.index("all.delay")]
    assert 0 <= delay.min() < 0.001
    assert 0.019 < delay.max() <= 0.02
    assert not any(p.kind in ("push", "light_position") for p in belief.space)


def test_a_file_may_narrow_a_parameter(arm: Twin):
    from dataclasses import replace

    from realworthy.twins.twin import ParameterText

    told = {"elbow.damping": ParameterText(value=0.2, lower=0.15, upper=0.25)}
    narrow = replace(arm, parameters=told)
    parameter = narrow.space["elbow.damping"]
    assert (parameter.nominal, parameter.lower, parameter.upper) == (0.2, 0.15, 0.25)
    draws = narrow.belief.marginal(["elbow.damping"]).sample(200, seed=0)
    assert draws.min() >= 0.15
    assert draws.max() <= 0.25


def test_groups_share_out_the_space(arm: Twin):
    shared = groups(arm, arm.space)
    assert sum(len(members) for members in shared.values()) == len(arm.space)
    assert "elbow.damping" in shared[Group.JOINT]
    assert "all.delay" in shared[Group.DELAY]


def test_explicit_drives_bring_their_own_numbers(arm: Twin):
    drive = Actuator(
        joint="elbow",
        controller=ControllerDuty(duty_gain=2.0),
        motor=MotorDc(torque_constant=0.4, resistance=4.0, supply_voltage=12.0),
        friction=FrictionM4(coulomb_friction=0.1, stribeck_friction=0.05),
    )
    twin = arm.with_actuators({"elbow": drive})
    assert twin.space["elbow.stribeck_friction"].nominal == 0.05
    assert twin.space["elbow.resistance"].nominal == 4.0
    assert (
        twin.space["elbow.coulomb_friction"].nominal == 0.1
    )  # the law's, not MuJoCo's
    bound = bind(twin, twin.space.select(["elbow.resistance", "shoulder.kp"]))
    assert set(bound.fields) == {
        "actuator_gainprm",
        "actuator_biasprm",
        "own.law.elbow.resistance",
    }


def test_a_native_drive_keeps_to_mujocos_fields(arm: Twin):
    drive = Actuator(joint="elbow", controller=ControllerPosition(kp=12.0, kd=0.5))
    twin = arm.with_actuators({"elbow": drive})
    assert twin.space["elbow.kp"].nominal == 12.0
    assert not bind(twin).drives


def test_a_calibrated_twin_starts_at_its_belief(arm: Twin):
    space = arm.space.select(["elbow.damping", "lower.mass"])
    belief = GaussianBelief(space, np.log([0.3, 0.5]), [[0.01, 0.004], [0.004, 0.01]])
    twin = arm.with_belief(belief)
    model = twin.compiled.model
    assert model.dof_damping[1] == pytest.approx(belief.mean["elbow.damping"])
    assert model.body("lower").mass == pytest.approx(belief.mean["lower.mass"])
    assert twin.belief.correlation()[0, 1] == pytest.approx(0.4)


@pytest.mark.parametrize("name", builtin_names())
def test_every_parameter_of_every_built_in_twin_can_be_written(name: str):
    """All at once where they do not fight over one number."""
    twin = load_twin(name)
    single = [p.name for p in twin.space if p.element != "all" and p.kind != "inertia"]
    bound = bind(twin, twin.space.select(single))
    model = bound.sample_model(bound.space.nominal)
    plain = bind(twin).model
    for field in ("body_mass", "dof_damping", "actuator_gainprm", "geom_size"):
        np.testing.assert_allclose(getattr(model, field), getattr(plain, field), 1e-9)
    assert {p.kind for p in twin.space} <= set(WRITERS) | {"strength"}


def test_a_bias_has_the_unit_of_what_is_measured(tmp_path: Path):
    path = tmp_path / "cart.xml"
    path.write_text("""
    <mujoco>
      <worldbody>
        <body name="cart">
          <joint name="rail" type="slide" axis="1 0 0"/>
          <geom size="0.1" mass="1"/>
          <site name="imu"/>
          <body><joint name="hip" axis="0 1 0"/><geom size="0.1" mass="1"/></body>
        </body>
      </worldbody>
      <sensor>
        <jointpos name="along" joint="rail"/><jointvel name="speed" joint="rail"/>
        <jointpos name="angle" joint="hip"/><jointvel name="rate" joint="hip"/>
        <gyro name="gyro" site="imu"/><clock name="clock"/>
      </sensor>
    </mujoco>
    """)
    space = load_twin(str(path)).space
    names = ("along", "speed", "angle", "rate", "gyro", "clock")
    units = [space[f"{name}.sensor_bias"].unit for name in names]
    assert units == ["m", "m/s", "rad", "rad/s", "rad/s", "of the signal"]
    assert space["angle.sensor_noise"].unit == "rad"
    assert space["angle.sensor_scale"].unit == "1"
