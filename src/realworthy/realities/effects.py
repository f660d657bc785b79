"""Effects that a twin lacks, as a reality file describes them."""

import msgspec


class _Effect(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
):
    """Something that real robots have and models do not; abstract."""


class Stribeck(_Effect, frozen=True, kw_only=True, tag="stribeck"):
    """Dry friction that is larger at low speed: + static · exp(−(q̇/velocity)²)."""

    joint: str
    static: float
    """[N·m] beyond Coulomb friction."""
    velocity: float = 0.05
    """[rad/s]"""


class Backlash(_Effect, frozen=True, kw_only=True, tag="backlash"):
    """Free play between motor and link; the encoder sits on the motor."""

    joint: str
    width: float
    """[rad]"""


class Hysteresis(_Effect, frozen=True, kw_only=True, tag="hysteresis"):
    """Torque that depends on where the joint came from (Dahl's model of presliding)."""

    joint: str
    torque: float
    """[N·m] at which it slips."""
    stiffness: float
    """[N·m/rad] right after a reversal."""


class Flexibility(_Effect, frozen=True, kw_only=True, tag="flexibility"):
    """A spring and damper between motor and link; the encoder sits on the motor."""

    joint: str
    stiffness: float
    """[N·m/rad]"""
    damping: float = 0.0


class Drag(_Effect, frozen=True, kw_only=True, tag="drag"):
    """Air: − coefficient · q̇ |q̇|."""

    joint: str
    coefficient: float
    """[N·m·s²/rad²]"""


class LoadFriction(_Effect, frozen=True, kw_only=True, tag="load_friction"):
    """Dry friction that grows with what the gears transmit: + coefficient · |τ|."""

    joint: str
    coefficient: float
    """N·m of friction per N·m of motor torque."""


class Saturation(_Effect, frozen=True, kw_only=True, tag="saturation"):
    """A motor that gives less than it should."""

    joint: str
    limit: float
    """[N·m]"""


class ThermalFade(_Effect, frozen=True, kw_only=True, tag="thermal_fade"):
    """A motor that weakens as it warms up: strength 1 − loss · heat.

    heat approaches (τ/rated_torque)², 1 at most, with the time constant.
    """

    joint: str
    time_constant: float
    """[s]"""
    loss: float
    """Share of the torque that is gone when hot."""
    rated_torque: float | None = None
    """[N·m]; half of the actuator's limit where left out."""


class SupplySag(_Effect, frozen=True, kw_only=True, tag="supply_sag"):
    """A battery whose voltage falls under load: strength 1 − loss · load share."""

    loss: float
    """Share of all torque that is gone when every motor pulls at its limit."""
    time_constant: float = 0.02
    """[s]"""


class Quantisation(_Effect, frozen=True, kw_only=True, tag="quantisation"):
    """An encoder with coarse steps."""

    joint: str
    step: float
    """[rad]"""


class Cable(_Effect, frozen=True, kw_only=True, tag="cable"):
    """A cable that pulls the joint towards a rest angle."""

    joint: str
    stiffness: float
    """[N·m/rad]"""
    rest: float = 0.0
    """[rad]"""


class Slosh(_Effect, frozen=True, kw_only=True, tag="slosh"):
    """Liquid in a body: a pendulum inside it that adds its mass."""

    body: str
    mass: float
    length: float
    damping: float = 0.001


class Contact(_Effect, frozen=True, kw_only=True, tag="contact"):
    """A box that stands in the way and that the twin does not have."""

    position: tuple[float, float, float]
    size: tuple[float, float, float]
    """[m] half sizes."""


Effect = (
    Stribeck
    | Backlash
    | Hysteresis
    | Flexibility
    | Drag
    | LoadFriction
    | Saturation
    | ThermalFade
    | SupplySag
    | Quantisation
    | Cable
    | Slosh
    | Contact
)
EFFECTS: dict[str, type[msgspec.Struct]] = {
    str(kind.__struct_config__.tag): kind for kind in Effect.__args__
}
