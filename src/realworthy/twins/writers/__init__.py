"""One typed writer per physical quantity: the only code that knows model fields.

A `Writer` says which elements of a model have a quantity, between which values, and
how a value enters the fields of many worlds at once. It always starts from remembered
nominals, and it names what MuJoCo must be told to recompute. `WRITERS` lists them all,
in the order in which a sample is written.
"""

from realworthy.twins.writers import (
    actuators,
    bodies,
    contacts,
    joints,
    signals,
    surroundings,
)
from realworthy.twins.writers.writer import Fields, Group, ModelEdit, Rows, Writer

WRITERS: dict[str, Writer] = {
    writer.kind: writer
    for writer in (
        bodies.INERTIA,
        bodies.LINK_LENGTH,
        bodies.OBJECT_SIZE,
        bodies.MASS,
        bodies.CENTRE_OF_MASS,
        joints.ARMATURE,
        joints.DAMPING,
        joints.COULOMB_FRICTION,
        joints.STIFFNESS,
        actuators.KP,
        actuators.KD,
        actuators.TORQUE_LIMIT,
        actuators.GEAR,
        actuators.RESISTANCE,
        actuators.TORQUE_CONSTANT,
        actuators.DELAY,
        actuators.ACTION_NOISE,
        contacts.CONTACT_FRICTION,
        contacts.RESTITUTION,
        contacts.SOFTNESS,
        signals.SENSOR_BIAS,
        signals.SENSOR_SCALE,
        signals.SENSOR_NOISE,
        signals.SENSOR_DELAY,
        signals.INITIAL_POSITION,
        signals.INITIAL_VELOCITY,
        surroundings.GRAVITY,
        surroundings.GRAVITY_TILT,
        surroundings.PUSH,
        surroundings.TABLE_HEIGHT,
        surroundings.TERRAIN_HEIGHT,
        surroundings.LIGHT_POSITION,
        surroundings.LIGHT_COLOUR,
        surroundings.CAMERA_POSITION,
        surroundings.CAMERA_FIELD_OF_VIEW,
        surroundings.MATERIAL_COLOUR,
    )
}

__all__ = ["WRITERS", "Fields", "Group", "ModelEdit", "Rows", "Writer"]
