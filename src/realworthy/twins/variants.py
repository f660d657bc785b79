"""The same robot by other numerics: integrator, time step, contact model."""

from typing import Annotated, Literal

import msgspec
import mujoco
from msgspec import Meta

from realworthy.twins.structure import set_timestep
from realworthy.twins.twin import Twin

_INTEGRATORS = {
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}
_CONES = {
    "pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL,
    "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC,
}


class Variant(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What of the numerics is other than in the twin; nothing by default."""

    integrator: Literal["", "euler", "implicit", "implicitfast", "rk4"] = ""
    timestep: Annotated[float, Meta(gt=0, le=4)] = 1.0
    """Factor of the physics step; the control period stays."""
    cone: Literal["", "pyramidal", "elliptic"] = ""
    """Of friction in contacts."""
    impratio: Annotated[float, Meta(ge=0)] = 0.0
    """Stiffness of friction over that of contact; 0: as in the twin."""
    contact_time: Annotated[float, Meta(gt=0)] = 1.0
    """Factor of the time constant of contacts: below 1 they are stiffer."""

    @property
    def is_none(self) -> bool:
        return self == Variant()


def apply_variant(twin: Twin, variant: Variant) -> Twin:
    """The twin with other numerics, and all its names and numbers as they were."""
    if variant.is_none:
        return twin

    def edit(spec: mujoco.MjSpec) -> None:
        option = spec.option
        if variant.integrator:
            option.integrator = _INTEGRATORS[variant.integrator]
        if variant.timestep != 1.0:
            set_timestep(spec, option.timestep * variant.timestep)
        if variant.cone:
            option.cone = _CONES[variant.cone]
        if variant.impratio:
            option.impratio = variant.impratio
        if variant.contact_time != 1.0:
            for geom in spec.geoms:
                if geom.solref[0] > 0:  # negative ones are stiffness and damping
                    geom.solref[0] *= variant.contact_time

    return twin.edited(edit)
