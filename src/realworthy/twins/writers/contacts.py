"""Friction and bounce of the surfaces of a body."""

import mujoco
import numpy as np

from realworthy.parameters import Operation
from realworthy.twins.compiled_model import CompiledModel, object_names
from realworthy.twins.writers.writer import (
    Fields,
    FieldSlot,
    Floats,
    Group,
    ModelEdit,
    Rows,
    SlotEdit,
    Writer,
    between,
    combine,
)

_BODY = mujoco.mjtObj.mjOBJ_BODY


def colliding_bodies(compiled: CompiledModel) -> tuple[str, ...]:
    """Bodies, the world included, with at least one shape that can touch."""
    names = object_names(compiled.model, _BODY)
    return tuple(n for n in names if _surfaces(compiled, n))


def _surfaces(compiled: CompiledModel, body: str) -> list[int]:
    model, i = compiled.model, compiled.id(_BODY, body)
    first = int(model.body_geomadr[i])
    geoms = range(first, first + int(model.body_geomnum[i]))
    return [g for g in geoms if model.geom_contype[g] or model.geom_conaffinity[g]]


def _edit_friction(compiled: CompiledModel, body: str) -> ModelEdit:
    """Sliding friction. A contact takes the larger of its two surfaces' numbers."""
    slots = [FieldSlot("geom_friction", (g, 0)) for g in _surfaces(compiled, body)]
    return SlotEdit(compiled, slots)


def bounce(zeta: Floats) -> Floats:
    """Restitution of a spring–damper contact with damping ratio ζ.

    A contact cannot pull, so it ends when the force, not the depth, returns to zero:
    r = exp(−ζ φ/√(1 − ζ²)) with φ = π − arctan2(2ζ√(1 − ζ²), 1 − 2ζ²) for ζ < 1, and
    r = exp(−2ζ artanh(s)/√(ζ² − 1)) with s = √(ζ² − 1)/ζ beyond; e⁻² at ζ = 1.
    """
    zeta = np.asarray(zeta, dtype=np.float64)
    light = np.clip(zeta, 1e-9, 1 - 1e-9)
    root = np.sqrt(1 - light**2)
    phase = np.pi - np.arctan2(2 * light * root, 1 - 2 * light**2)
    heavy = np.maximum(zeta, 1 + 1e-9)
    heavy_root = np.sqrt(heavy**2 - 1)
    slow = np.exp(-2 * heavy * np.arctanh(heavy_root / heavy) / heavy_root)
    return np.where(zeta < 1, np.exp(-light * phase / root), slow)


def damping_ratio(restitution: Floats) -> Floats:
    """Damping ratio of a contact that bounces with this coefficient, 30 at most."""
    zeta = np.geomspace(1e-4, 30.0, 20_000)
    return np.interp(restitution, bounce(zeta)[::-1], zeta[::-1])


class RestitutionEdit(ModelEdit):
    """Restitution as the damping ratio of the contact reference, at equal stiffness.

    MuJoCo has no restitution: `solref` = (time constant, damping ratio). The natural
    frequency 1/(time constant · ratio) of the nominal is kept. Both surfaces of a
    contact are mixed, so set `all.restitution` to change what bounces.
    """

    fields = ("geom_solref",)

    def __init__(self, compiled: CompiledModel, body: str) -> None:
        self.geoms = _surfaces(compiled, body)
        solref = compiled.model.geom_solref[self.geoms]
        direct = solref[:, 0] < 0  # (−stiffness, −damping)
        with np.errstate(invalid="ignore"):
            root = np.sqrt(np.where(direct, -solref[:, 0], 1.0))
            self.frequency = np.where(
                direct, root, 1 / np.where(direct, 1.0, solref[:, 0] * solref[:, 1])
            )
            zeta = np.where(direct, -solref[:, 1] / (2 * root), solref[:, 1])
        self._nominal = np.array([bounce(zeta).max()])

    def nominal(self) -> Floats:
        return self._nominal

    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        restitution = combine(self._nominal, values, operation)[:, 0]
        zeta = damping_ratio(np.clip(restitution, 0.0, 0.999))
        for g, frequency in zip(self.geoms, self.frequency, strict=True):
            fields["geom_solref"][rows, g, 0] = 1 / (frequency * zeta)
            fields["geom_solref"][rows, g, 1] = zeta


CONTACT_FRICTION = Writer(
    kind="contact_friction",
    unit="1",
    group=Group.CONTACT,
    elements=colliding_bodies,
    edit=_edit_friction,
    lower=0.0,
    spread=between(0.4, 1.2),
)
RESTITUTION = Writer(
    kind="restitution",
    unit="1",
    group=Group.CONTACT,
    elements=colliding_bodies,
    edit=RestitutionEdit,
    lower=0.0,
    upper=0.999,
)
