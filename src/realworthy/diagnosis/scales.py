"""What counts as much for a joint: its torques, speeds and ways in the recordings."""

from dataclasses import dataclass

import numpy as np

from realworthy.diagnosis.bench import Bench


@dataclass(frozen=True, slots=True)
class Scale:
    """Root mean squares over the recordings, and inertia, of one joint."""

    torque: float
    """[N·m or N]"""
    largest_torque: float
    """[N·m or N] hardly ever exceeded."""
    velocity: float
    """[rad/s or m/s]"""
    motion: float
    """[rad or m] about the mean position."""
    low: float
    high: float
    """[rad or m] between which it moved."""
    inertia: float
    """[kg·m² or kg]"""


def find_scales(bench: Bench) -> dict[str, Scale]:
    """Every measured joint → its scales."""
    layout, sources = bench.layout, bench.sources(())
    found = {}
    for i, joint in enumerate(bench.joints):
        position = np.concatenate([s.states.position[:, i] for s in sources])
        velocity = np.concatenate([s.states.velocity[:, i] for s in sources])
        acceleration = np.concatenate([s.states.acceleration[:, i] for s in sources])
        inertia = float(layout.inertias[layout.joint(joint)[1]])
        needed = inertia * float(np.sqrt(np.mean(acceleration**2)))
        is_driven = joint in layout.driven_joints
        torque = max(bench.heat.rms(joint) if is_driven else 0.0, 0.3 * needed, 1e-9)
        found[joint] = Scale(
            torque=torque,
            largest_torque=bench.heat.largest(joint) if is_driven else torque,
            velocity=max(float(np.sqrt(np.mean(velocity**2))), 1e-6),
            motion=max(float(position.std()), 1e-6),
            low=float(np.quantile(position, 0.01)),
            high=float(np.quantile(position, 0.99)),
            inertia=inertia,
        )
    return found
