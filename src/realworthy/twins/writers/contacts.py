"""Friction, bounce and softness of the surfaces of a body."""

from abc import abstractmethod

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
_MIN_SOFTNESS = 2e-3
"""[s] below which MuJoCo keeps contacts at two time steps of 1 ms, so that nothing
changes any more."""


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


class ReferenceEdit(ModelEdit):
    """One of the two numbers of a contact's reference, the other kept.

    MuJoCo has neither: `solref` = (time constant, damping ratio ζ), or (−stiffness,
    −damping), of a spring and damper with natural frequency ω = 1/(time constant · ζ).
    Restitution is a function of ζ alone, softness is 1/ω. Both surfaces of a contact
    are mixed, so set `all.restitution` and `all.softness` to change what touches.
    """

    fields = ("geom_solref",)

    def __init__(self, compiled: CompiledModel, body: str) -> None:
        self.geoms = _surfaces(compiled, body)
        self._nominal = np.array(
            [self.read(*read_reference(compiled.model.geom_solref[self.geoms])).max()]
        )

    @abstractmethod
    def read(self, softness: Floats, zeta: Floats) -> Floats:
        """The quantity of surfaces with these references."""

    @abstractmethod
    def replace(
        self, values: Floats, softness: Floats, zeta: Floats
    ) -> tuple[Floats, Floats]:
        """Softness and ζ of surfaces that had these, and have these `values` now."""

    def nominal(self) -> Floats:
        return self._nominal

    def write(
        self, fields: Fields, rows: Rows, values: Floats, operation: Operation
    ) -> None:
        wanted = combine(self._nominal, values, operation)[:, 0]
        for g in self.geoms:
            written = fields["geom_solref"][rows, g]
            softness, zeta = self.replace(wanted, *read_reference(written))
            fields["geom_solref"][rows, g, 0] = softness / zeta
            fields["geom_solref"][rows, g, 1] = zeta


class RestitutionEdit(ReferenceEdit):
    """Speed after a bounce over the speed before it, at equal softness."""

    def read(self, softness: Floats, zeta: Floats) -> Floats:
        return bounce(zeta)

    def replace(
        self, values: Floats, softness: Floats, zeta: Floats
    ) -> tuple[Floats, Floats]:
        return softness, damping_ratio(np.clip(values, 0.0, 0.999))


class SoftnessEdit(ReferenceEdit):
    """1/ω, at equal restitution. Bodies at rest sink by (1 − d) g/ω², d of solimp."""

    def read(self, softness: Floats, zeta: Floats) -> Floats:
        return softness

    def replace(
        self, values: Floats, softness: Floats, zeta: Floats
    ) -> tuple[Floats, Floats]:
        return values, zeta


def read_reference(solref: Floats) -> tuple[Floats, Floats]:
    """Softness 1/ω [s] and damping ratio ζ of (…, 2) references in either form."""
    direct = solref[..., 0] < 0
    root = np.sqrt(np.where(direct, -solref[..., 0], 1.0))  # ω = √stiffness
    zeta = np.where(direct, -solref[..., 1] / (2 * root), solref[..., 1])
    softness = np.where(direct, 1 / root, solref[..., 0] * solref[..., 1])
    return softness, zeta


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
SOFTNESS = Writer(
    kind="softness",
    unit="s",
    group=Group.CONTACT,
    elements=colliding_bodies,
    edit=SoftnessEdit,
    lower=_MIN_SOFTNESS,
)
