"""One joint by `mujoco.sysid` and by us: residual, time, and whether intervals hold.

    python benchmarks/peers/sysid_joint.py [--fits 40] [--json FILE]

Runs in an environment with `mujoco[sysid]`. Both get the same recordings of 8 s at
500 Hz, the same model with dry friction that does not creep, the same start (twice and
half the truth), the same four numbers, positions alone. Noise of 1 mrad is white, then
coloured (AR(1), 0.95). Time is the processor's, of all threads.
"""

import argparse
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import mujoco
import numpy as np
from mujoco import sysid
from scipy.signal import lfilter

from realworthy.identification import Problem
from realworthy.identification.solver.least_squares import fit_least_squares
from realworthy.recordings import Recording, Sidecar
from realworthy.twins import Twin

MODEL = """
<mujoco model="joint">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="link">
      <joint name="joint" axis="0 1 0" damping="{damping}" frictionloss="{friction}"
             armature="{armature}" solimpfriction="0.9999 0.9999 0.001 0.5 2"/>
      <inertial pos="0 0 -0.2" mass="0.5" diaginertia="0.003 0.003 0.0005"/>
    </body>
  </worldbody>
  <actuator><position name="joint" joint="joint" kp="{kp}"/></actuator>
  <sensor><jointpos name="angle" joint="joint"/></sensor>
</mujoco>
"""
TRUTH = {"damping": 0.3, "friction": 0.1, "armature": 0.02, "kp": 15.0}
START = {"damping": 0.6, "friction": 0.05, "armature": 0.04, "kp": 10.0}
NAMES = {
    "damping": "joint.damping",
    "friction": "joint.coulomb_friction",
    "armature": "joint.armature",
    "kp": "joint.kp",
}
SIGMA, COLOUR = 1e-3, 0.95
_QUANTILE = 1.6449  # of 90 % intervals


@dataclass(frozen=True, slots=True)
class Found:
    """One fit."""

    seconds: float
    """Of the processor."""
    rms: float
    """[rad] of an open-loop replay."""
    values: list[float]
    sds: list[float]

    def holds(self) -> list[bool]:
        """Whether each 90 % interval holds the truth."""
        told = zip(self.values, self.sds, TRUTH.values(), strict=True)
        return [abs(value - true) <= _QUANTILE * sd for value, sd, true in told]


def main() -> None:
    logging.disable(logging.INFO)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="first seed of the noise")
    parser.add_argument("--json", type=Path, help="write every fit here")
    chosen = parser.parse_args()
    rows: dict[str, dict[str, list[Found]]] = {}
    for colour in (0.0, COLOUR):
        kind = "white" if not colour else "coloured"
        own = rows[kind] = {"mujoco.sysid": [], "realworthy": []}
        for seed in range(chosen.first, chosen.first + chosen.fits):
            data = simulate(seed, colour)
            own["mujoco.sysid"].append(fit_peer(*data))
            own["realworthy"].append(fit_ours(*data))
            if chosen.json is not None:
                chosen.json.write_text(json.dumps(rows, default=asdict))
        for who, found in own.items():
            print(f"noise {kind}, {who}: {to_words(found)}", flush=True)
        print(f"noise {kind}: {compare(own['realworthy'], own['mujoco.sysid'])}")


def to_words(found: Sequence[Found]) -> str:
    held = np.array([fit.holds() for fit in found])
    low, high = compute_wilson(float(held.mean()), len(found))
    by_name = zip(TRUTH, held.mean(0), strict=True)
    return (
        f"{np.median([fit.seconds for fit in found]):.2f} s a fit, residual "
        f"{np.median([fit.rms for fit in found]):.6f} rad, 90 % intervals hold in "
        f"{held.mean():.3f} ({low:.3f} to {high:.3f}; "
        f"{', '.join(f'{name} {share:.2f}' for name, share in by_name)})"
    )


def compare(ours: Sequence[Found], theirs: Sequence[Found]) -> str:
    pairs = list(zip(ours, theirs, strict=True))
    time = [own.seconds / other.seconds for own, other in pairs]
    rms = [own.rms / other.rms for own, other in pairs]
    return (
        f"ours over theirs, time {np.median(time):.2f} ({np.quantile(time, 0.1):.2f} "
        f"to {np.quantile(time, 0.9):.2f}), residual {np.median(rms):.5f} "
        f"({min(rms):.5f} to {max(rms):.5f})"
    )


def compute_wilson(share: float, count: int) -> tuple[float, float]:
    """95 % interval of a share; numbers of one fit miss together and count as one."""
    z = 1.96
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    inner = share * (1 - share) / count + z**2 / (4 * count**2)
    half = z * np.sqrt(inner) / (1 + z**2 / count)
    return middle - half, middle + half


def simulate(seed: int, colour: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time, commands and noisy positions."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(**TRUTH))
    data = mujoco.MjData(model)
    t = np.arange(4000) * model.opt.timestep
    rates = np.array([0.3, 0.7, 1.3, 2.2, 3.4])
    command = 0.2 * np.sin(2 * np.pi * np.outer(t, rates)).sum(1) * np.minimum(1, t)
    angle = np.empty(len(t))
    for k, u in enumerate(command):
        angle[k] = data.qpos[0]
        data.ctrl[0] = u
        mujoco.mj_step(model, data)
    white = np.random.default_rng(seed).standard_normal(len(t))
    noise = lfilter([np.sqrt(1 - colour**2)], [1, -colour], white)
    return t, command, angle + SIGMA * noise


def fit_peer(t: np.ndarray, command: np.ndarray, angle: np.ndarray) -> Found:
    spec = mujoco.MjSpec.from_string(MODEL.format(**START))
    parameters = sysid.ParameterDict()

    def add(name: str, modify) -> None:
        start = START[name]
        parameters.add(
            sysid.Parameter(
                name,
                nominal=start,
                min_value=start / 20,
                max_value=start * 20,
                modifier=modify,
            )
        )

    def set_gain(spec, p) -> None:
        actuator = spec.actuator("joint")
        actuator.gainprm[0], actuator.biasprm[1] = p.value[0], -p.value[0]

    def set_joint(field: str):
        def modify(spec, p) -> None:
            joint = spec.joint("joint")
            value = p.value[0]
            if field == "damping":
                joint.damping = np.array([value, 0.0, 0.0])
            else:
                setattr(joint, field, value)

        return modify

    add("damping", set_joint("damping"))
    add("friction", set_joint("frictionloss"))
    add("armature", set_joint("armature"))
    add("kp", set_gain)
    model = spec.compile()
    state = mujoco.MjData(model)
    state.qpos[0] = angle[:5].mean()
    initial = sysid.create_initial_state(model, state.qpos, state.qvel, state.act)
    # its rollouts stamp a sensor with the end of the step at whose start it was read
    measured = sysid.TimeSeries.from_names(t[1:], angle[:-1, None], model)
    sequences = sysid.ModelSequences(
        "joint", spec, "run", initial, sysid.TimeSeries(t, command[:, None]), measured
    )
    residual = sysid.build_residual_fn(models_sequences=[sequences])
    began = time.process_time()
    found, result = sysid.optimize(
        initial_params=parameters, residual_fn=residual, verbose=False
    )
    seconds = time.process_time() - began
    left, _, _ = residual(result.x, found)
    jacobian = getattr(result, "jac", None)
    covariance, _ = sysid.calculate_intervals(left, np.asarray(jacobian))
    values = [float(found[name].value[0]) for name in TRUTH]
    sds = np.sqrt(np.diag(covariance)).tolist()
    rms = replay_error(dict(zip(TRUTH, values, strict=True)), command, angle)
    return Found(seconds, rms, values, sds)


def fit_ours(t: np.ndarray, command: np.ndarray, angle: np.ndarray) -> Found:
    spec = mujoco.MjSpec.from_string(MODEL.format(**START))
    twin = Twin(name="joint", base_spec=spec, model="joint.xml")
    recording = Recording(
        t,
        {"joint.position": angle, "joint.command": command},
        Sidecar(command_kind="position", rate=500.0),
    )
    began = time.process_time()
    fit = fit_least_squares(Problem(twin, [recording], list(NAMES.values())))
    seconds = time.process_time() - began
    values = [fit.e[name] for name in NAMES.values()]
    sds = [fit.belief.sd[name] for name in NAMES.values()]
    rms = replay_error(dict(zip(TRUTH, values, strict=True)), command, angle)
    return Found(seconds, rms, values, sds)


def replay_error(
    values: dict[str, float], command: np.ndarray, angle: np.ndarray
) -> float:
    """[rad] RMS of an open-loop replay from the mean of the first measurements."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(**values))
    data = mujoco.MjData(model)
    data.qpos[0] = angle[:5].mean()
    seen = np.empty(len(angle))
    for k, u in enumerate(command):
        seen[k] = data.qpos[0]
        data.ctrl[0] = u
        mujoco.mj_step(model, data)
    return float(np.sqrt(np.mean((seen - angle) ** 2)))


if __name__ == "__main__":
    main()
