"""Friction budgets M1 to M6 of Better Actuator Models (Duclusaud and Passault).

A budget τ_f ≥ 0 is the most torque that friction can exert. The joint feels the torque
that would stop it within this substep, clipped to ±τ_f (`apply_friction`): a moving
joint is slowed, a joint at rest under a smaller load stays exactly where it is. With
motor torque τ_m, external torque τ_e and σ = exp(−|q̇/q̇_s|^α):

    M1  K_c + K_v|q̇|
    M2  M1 + σ K_cs
    M3  M1 + K_l|τ_m − τ_e|
    M4  M3 + σ (K_cs + K_ls|τ_m − τ_e|)
    M5  M2 + |K_e τ_e − K_m τ_m| + σ|K_es τ_e − K_ms τ_m|
    M6  M5 + σ (K_e2 τ_e² where |τ_m| > |τ_e|, K_m2 τ_m² where |τ_m| < |τ_e|),
        the last only where the two torques oppose each other
"""

from typing import TypeAlias

import array_api_compat as api

from realworthy.actuators.arrays import Array, Numbers, clamp
from realworthy.actuators.kinds import ActuatorStage

_MAX_STRIBECK_RATIO = 1e3
"""Speed over the Stribeck velocity at which the ratio is cut: σ = exp(−ratio^α) has
underflowed to zero long before, and no power of the ratio overflows."""


class FrictionM1(ActuatorStage, frozen=True, kw_only=True, tag="m1"):
    """Coulomb and viscous."""

    coulomb_friction: float = 0.0
    damping: float = 0.0


class FrictionM2(ActuatorStage, frozen=True, kw_only=True, tag="m2"):
    """M1 and Stribeck: more friction near rest."""

    coulomb_friction: float = 0.0
    damping: float = 0.0
    stribeck_friction: float = 0.0
    stribeck_velocity: float = 0.2
    stribeck_exponent: float = 1.35


class FrictionM3(ActuatorStage, frozen=True, kw_only=True, tag="m3"):
    """M1 and a share of the torque through the gearbox."""

    coulomb_friction: float = 0.0
    damping: float = 0.0
    load_friction: float = 0.0


class FrictionM4(ActuatorStage, frozen=True, kw_only=True, tag="m4"):
    """M2 and M3, the share of the torque being larger near rest."""

    coulomb_friction: float = 0.0
    damping: float = 0.0
    stribeck_friction: float = 0.0
    stribeck_velocity: float = 0.2
    stribeck_exponent: float = 1.35
    load_friction: float = 0.0
    stribeck_load_friction: float = 0.0


class FrictionM5(ActuatorStage, frozen=True, kw_only=True, tag="m5"):
    """M4 with one share of motor and one of external torque: drive and back-drive."""

    coulomb_friction: float = 0.0
    damping: float = 0.0
    stribeck_friction: float = 0.0
    stribeck_velocity: float = 0.2
    stribeck_exponent: float = 1.35
    load_friction_motor: float = 0.0
    load_friction_external: float = 0.0
    stribeck_load_friction_motor: float = 0.0
    stribeck_load_friction_external: float = 0.0


class FrictionM6(ActuatorStage, frozen=True, kw_only=True, tag="m6"):
    """M5 and terms quadratic in the weaker of two opposing torques."""

    coulomb_friction: float = 0.0
    damping: float = 0.0
    stribeck_friction: float = 0.0
    stribeck_velocity: float = 0.2
    stribeck_exponent: float = 1.35
    load_friction_motor: float = 0.0
    load_friction_external: float = 0.0
    stribeck_load_friction_motor: float = 0.0
    stribeck_load_friction_external: float = 0.0
    quadratic_load_friction_motor: float = 0.0
    quadratic_load_friction_external: float = 0.0


Friction: TypeAlias = (
    FrictionM1 | FrictionM2 | FrictionM3 | FrictionM4 | FrictionM5 | FrictionM6
)


def compute_friction(
    numbers: Numbers, torque: Array, load: Array, velocity: Array
) -> Array:
    """Budget τ_f [N·m] (worlds,) of the terms whose coefficients are in `numbers`."""
    xp = api.array_namespace(velocity)
    speed = xp.abs(velocity)
    budget = numbers["coulomb_friction"] + numbers["damping"] * speed
    if "load_friction" in numbers:
        budget = budget + numbers["load_friction"] * xp.abs(torque - load)
    if "load_friction_motor" in numbers:
        budget = budget + xp.abs(
            numbers["load_friction_external"] * load
            - numbers["load_friction_motor"] * torque
        )
    if "stribeck_friction" in numbers:
        ratio = xp.clip(speed / numbers["stribeck_velocity"], max=_MAX_STRIBECK_RATIO)
        near_rest = xp.exp(-(ratio ** numbers["stribeck_exponent"]))  # σ
        budget = budget + near_rest * _stribeck_terms(numbers, torque, load)
    return budget


def _stribeck_terms(numbers: Numbers, torque: Array, load: Array) -> Array:
    """What σ multiplies."""
    xp = api.array_namespace(torque)
    terms = numbers["stribeck_friction"]
    if "stribeck_load_friction" in numbers:
        terms = terms + numbers["stribeck_load_friction"] * xp.abs(torque - load)
    if "stribeck_load_friction_motor" in numbers:
        terms = terms + xp.abs(
            numbers["stribeck_load_friction_external"] * load
            - numbers["stribeck_load_friction_motor"] * torque
        )
    if "quadratic_load_friction_motor" in numbers:
        motor_leads = xp.abs(torque) > xp.abs(load)
        load_leads = xp.abs(torque) < xp.abs(load)
        driven = numbers["quadratic_load_friction_external"] * load**2
        back_driven = numbers["quadratic_load_friction_motor"] * torque**2
        weaker = motor_leads * driven + load_leads * back_driven
        terms = terms + (torque * load < 0.0) * weaker
    return terms


def apply_friction(budget: Array, stopping_torque: Array) -> Array:
    """Friction torque [N·m]: the torque that stops the joint, as far as τ_f reaches."""
    return clamp(stopping_torque, -budget, budget)
