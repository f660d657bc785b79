"""A DC motor in MuJoCo against an integration of its equations twenty times as fine.

Twelve numbers are moved one by one. Voltage drives without inductance, heat or current
limit run as MuJoCo's own `dcmotor`; the others as our law inside its loop.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from realworthy.actuators import Actuator, ControllerVoltage, MotorDc, Thermal
from realworthy.simulators import MujocoCpu
from realworthy.twins import Twin, bind, load_twin

TIMESTEP, FINER, STEP_COUNT = 0.0001, 20, 5000
LINK = """
<mujoco model="link">
  <option timestep="0.0001" integrator="implicitfast"/>
  <worldbody>
    <body name="link">
      <joint name="link" axis="0 1 0" damping="{damping}"/>
      <inertial pos="0 0 -0.2" mass="0.5" diaginertia="0.001 0.001 0.001"/>
    </body>
  </worldbody>
  <actuator><motor name="link" joint="link"/></actuator>
</mujoco>
"""


@dataclass(kw_only=True, slots=True)
class Numbers:
    """Everything that is moved, at its nominal."""

    torque_constant: float = 1.0
    back_emf_constant: float | None = None
    resistance: float = 0.8
    supply_voltage: float = 12.0
    gear: float = 1.0
    armature: float = 0.01
    damping: float = 0.05
    inductance: float | None = None
    current_limit: float | None = None
    thermal_resistance: float | None = None
    thermal_capacity: float | None = None
    temperature_coefficient: float = 0.0039


ELECTRIC = {"inductance": 0.004}
LIMITED = {"current_limit": 1.2}
HOT = {"thermal_resistance": 20.0, "thermal_capacity": 0.01}
CASES: dict[str, dict[str, float]] = {
    "torque_constant": {},
    "back_emf_constant": {"back_emf_constant": 0.9},
    "resistance": {},
    "supply_voltage": {"supply_voltage": 5.0},
    "gear": {},
    "armature": {},
    "damping": {},
    "inductance": ELECTRIC,
    "current_limit": LIMITED,
    "thermal_resistance": HOT,
    "thermal_capacity": HOT,
    "temperature_coefficient": HOT,
}
"""Number → what the motor has beside the nominal where it matters."""
NATIVE = ("torque_constant", "resistance", "supply_voltage", "armature", "damping")


def draw_voltage() -> np.ndarray:
    """(steps,) [V] two sines, up to 9 V."""
    t = TIMESTEP * np.arange(STEP_COUNT)
    return 6.0 * np.sin(2 * np.pi * 2.0 * t) + 3.0 * np.sin(2 * np.pi * 5.0 * t)


def integrate(n: Numbers) -> np.ndarray:
    """(steps,) torque at the joint [N·m], by explicit steps of 5 µs.

    As drives give it: at the velocity with which a step begins, and where there is
    inductance, the mean over the step.
    """
    dt = TIMESTEP / FINER
    inertia = 0.001 + 0.5 * 0.2**2 + n.armature
    weight = 0.5 * 9.81 * 0.2
    constant = n.back_emf_constant or n.torque_constant
    q = w = current = rise = 0.0
    torques = []
    for asked in draw_voltage():
        within = []
        for _ in range(FINER):
            r, emf = n.resistance, constant * n.gear * w
            if n.thermal_resistance is not None:
                r *= 1 + n.temperature_coefficient * rise  # 25 °C around it
            v = asked
            if n.current_limit is not None:
                v = min(max(v, emf - r * n.current_limit), emf + r * n.current_limit)
            v = min(max(v, -n.supply_voltage), n.supply_voltage)
            if n.inductance is None:
                current = (v - emf) / r
            else:
                current += dt / n.inductance * (v - r * current - emf)
            if n.thermal_resistance is not None and n.thermal_capacity is not None:
                loss = rise / n.thermal_resistance
                rise += dt / n.thermal_capacity * (current**2 * r - loss)
            torque = n.gear * n.torque_constant * current
            w += dt / inertia * (torque - n.damping * w - weight * np.sin(q))
            q += dt * w
            within.append(torque)
        torques.append(within[0] if n.inductance is None else np.mean(within))
    return np.array(torques)


def simulate(n: Numbers, folder: Path) -> tuple[np.ndarray, bool]:
    """(steps,) torque at the joint [N·m], and whether MuJoCo's own motor gave it."""
    (folder / "link.xml").write_text(LINK.format(damping=n.damping))
    thermal = None
    if n.thermal_resistance is not None and n.thermal_capacity is not None:
        thermal = Thermal(
            thermal_resistance=n.thermal_resistance,
            thermal_capacity=n.thermal_capacity,
            temperature_coefficient=n.temperature_coefficient,
            ambient_temperature=25.0,
            reference_temperature=25.0,
        )
    motor = MotorDc(
        torque_constant=n.torque_constant,
        back_emf_constant=n.back_emf_constant,
        resistance=n.resistance,
        supply_voltage=n.supply_voltage,
        inductance=n.inductance,
        current_limit=n.current_limit,
        thermal=thermal,
    )
    drive = Actuator(
        joint="link",
        controller=ControllerVoltage(),
        motor=motor,
        gear=n.gear,
        armature=n.armature,
    )
    twin: Twin = load_twin(folder / "link.xml").with_actuators({"link": drive})
    bound = bind(twin)
    simulator = MujocoCpu(bound, 1, substeps=1, thread_count=1)
    force = simulator.array("qfrc_actuator")
    torques = []
    for voltage in draw_voltage():
        simulator.step([[voltage]])
        torques.append(float(force[0, 0]))
    return np.array(torques), not bound.drives


@pytest.mark.parametrize("name", CASES)
def test_each_number_of_a_dc_motor_acts_as_its_equation_says(name: str, tmp_path: Path):
    """Recipe A1: torque within 1 % of an independent integration."""
    nominal = Numbers(**CASES[name])
    moved = Numbers(**(CASES[name] | {name: 1.6 * getattr(nominal, name)}))
    expected, before = integrate(moved), integrate(nominal)
    torque, is_native = simulate(moved, tmp_path)
    assert is_native == (name in NATIVE)
    size = np.sqrt(np.mean(expected**2))
    assert np.sqrt(np.mean((torque - expected) ** 2)) < 0.01 * size
    # and the number mattered: the nominal motor is distinguished
    assert np.sqrt(np.mean((before - expected) ** 2)) > 0.015 * size
