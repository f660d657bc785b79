"""Checks of masses and inertias: could any piece of matter have them?"""

import mujoco
import numpy as np

from realworthy.twins.inspection.findings import ModelFinding, group
from realworthy.twins.inspection.names import body_name

_ROUNDING = 1e-6  # share of an inertia that may be lost in decimal digits
_LEAST_MASS = 1e-6  # [kg] a moving thing lighter than a milligram is a mistake
_LARGEST_RATIO = 1.5  # radius of gyration over the extent of the body's shapes
_SMALLEST_RATIO = 0.01


def inspect_bodies(model: mujoco.MjModel) -> list[ModelFinding]:
    """Findings about the mass properties of every body but the world."""
    return [
        *_inspect_inertia_positive(model),
        *_inspect_triangle(model),
        *_inspect_massless(model),
        *_inspect_extent(model),
    ]


def _inspect_inertia_positive(model: mujoco.MjModel) -> list[ModelFinding]:
    details: dict[str, str] = {}
    for body in range(1, model.nbody):
        least = float(model.body_inertia[body].min())
        if model.body_mass[body] < 0 or (model.body_mass[body] > 0 and least <= 0):
            details[body_name(model, body)] = f"{least:.3g} kg·m²"
    return group(
        "inertia_positive",
        "error",
        details,
        "has mass but a principal inertia that is not positive",
        hint="Give <inertial> positive moments, or leave it out and let shapes decide.",
    )


def _inspect_triangle(model: mujoco.MjModel) -> list[ModelFinding]:
    details: dict[str, str] = {}
    for body in range(1, model.nbody):
        a, b, c = sorted(float(moment) for moment in model.body_inertia[body])
        if a > 0 and a + b < c * (1 - _ROUNDING):
            details[body_name(model, body)] = f"{a:.3g} + {b:.3g} < {c:.3g}"
    return group(
        "inertia_triangle",
        "error",
        details,
        "principal inertias A + B < C, which no distribution of mass has",
        hint="Inertias are often given about a joint instead of the centre of mass, or "
        "with products of inertia of the wrong sign.",
    )


def _inspect_massless(model: mujoco.MjModel) -> list[ModelFinding]:
    """Bodies with joints whose rigid group (welded children too) weighs nothing."""
    weights = np.bincount(
        model.body_weldid, weights=model.body_mass, minlength=model.nbody
    )
    details = {
        body_name(model, body): f"{weights[body]:.1g} kg"
        for body in range(1, model.nbody)
        if model.body_dofnum[body] > 0 and weights[body] < _LEAST_MASS
    }
    return group(
        "massless_body",
        "error",
        details,
        "moves but has next to no mass",
        hint="Merge dummy links into one body with several joints, or give them mass.",
    )


def _inspect_extent(model: mujoco.MjModel) -> list[ModelFinding]:
    too_large: dict[str, str] = {}
    too_small: dict[str, str] = {}
    for body in range(1, model.nbody):
        mass, extent = float(model.body_mass[body]), _compute_extent(model, body)
        largest = float(model.body_inertia[body].max())
        if mass <= 0 or extent <= 0 or largest <= 0:
            continue
        gyration = np.sqrt(largest / mass)
        shown = f"{gyration:.2g} m against {extent:.2g} m"
        if gyration > _LARGEST_RATIO * extent:
            too_large[body_name(model, body)] = shown
        elif gyration < _SMALLEST_RATIO * extent:
            too_small[body_name(model, body)] = shown
    return [
        *group(
            "inertia_extent",
            "warning",
            too_large,
            "inertia puts the mass far outside the body's shapes (radius of gyration)",
            hint="Look for placeholders such as 0.001 or 1 in the inertia, or for "
            "units: g·mm² is 1e-9 kg·m².",
        ),
        *group(
            "inertia_extent",
            "note",
            too_small,
            "inertia is that of a point in a large body (radius of gyration)",
            hint="Fine for a point mass on purpose; else check the inertia's units.",
        ),
    ]


def _compute_extent(model: mujoco.MjModel, body: int) -> float:
    """Distance from the centre of mass to the farthest shape; 0 for a body without."""
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    extent = 0.0
    for geom in range(first, first + count):
        reach = np.linalg.norm(model.geom_pos[geom] - model.body_ipos[body])
        extent = max(extent, float(reach + model.geom_rbound[geom]))
    return extent
