"""What a diagnosis tells people: evidence and the cheapest next step, in words."""

from collections.abc import Sequence

from realworthy.diagnosis.suspects import Suspect

_STEPS = {
    "joint_order": "Paste the mapping into the sidecar, or correct the order in the "
    "driver; then wiggle one joint at a time and watch which one moves.",
    "joint_sign": "Paste the mapping into the sidecar, or flip the sign in the driver; "
    "then move the joint by hand and watch its number.",
    "unit_scale": "Paste the mapping into the sidecar, or convert in the driver.",
    "encoder_offset": "Put the joint against its end stop or a level, read the encoder "
    "and set its zero anew.",
    "default_pose": "Compare the default pose in the controller with the one in the "
    "twin; one of them is added twice, or not at all.",
    "clock_offset": "Stamp commands and measurements with one clock.",
    "command_kind": "Say command_kind in the sidecar, and look up what the robot's "
    "mode takes: positions or velocities.",
    "rate": "Look up how often the firmware takes in commands, and send or simulate "
    "them at that rate.",
    "dropped_samples": "Look for an overloaded bus or a blocking log writer.",
    "stale_samples": "Log the sensor's own sequence number, and drop repeats.",
    "mass": "Weigh the part with all its cables and tools, and set its mass.",
    "centre_of_mass": "Balance the part on an edge, or let calibrate fit it.",
    "inertia": "Let calibrate fit it from a fast motion of this joint.",
    "armature": "Look up the rotor's inertia times the gear ratio squared.",
    "damping": "Let calibrate fit it; move the joint at several speeds.",
    "coulomb_friction": "Let calibrate fit it; reverse the joint slowly several times.",
    "stiffness": "Look for a spring or a stiff cable on the joint.",
    "kp": "Read the gain out of the drive and set it in the twin.",
    "kd": "Read the gain out of the drive and set it in the twin.",
    "torque_limit": "Look up the current limit of the drive and set it in the twin.",
    "torque_constant": "Hang a known weight on the joint and read the current.",
    "gear": "Hang a known weight on the joint and read the torque it takes to hold it.",
    "resistance": "Measure the winding with an ohmmeter, warm and cold.",
    "delay": "Send a step and time the answer; set the delay in the twin.",
    "gravity": "Put a level on the base; check the masses.",
    "gravity_tilt": "Put a level on the base.",
    "contact_friction": "Pull the robot with a spring scale until it slips.",
    "stribeck": "Move the joint very slowly both ways; choose a friction model with a "
    "low-speed peak.",
    "backlash": "Hold the motor and turn the link by hand; add the play to the twin.",
    "hysteresis": "Reverse the joint slowly over small and large ways; choose a "
    "friction model with presliding.",
    "flexibility": "Lock the motor, load the link and measure how far it gives; add "
    "the spring to the twin.",
    "drag": "Swing the link fast in free air, with and without its cover.",
    "load_friction": "Repeat the motion with a weight; choose a friction model that "
    "grows with load.",
    "saturation": "Look up the current limit of the drive and set it in the twin.",
    "thermal_fade": "Repeat the motion cold and warm, and log temperature.",
    "supply_sag": "Log the supply's voltage while all motors pull.",
    "quantisation": "Use the fine encoder, or add the step to the twin's sensor.",
    "cable": "Move the joint with the cable taken off.",
    "slosh": "Repeat the motion with the container empty or full.",
    "contact": "Look what the robot touches at the end of this motion; record once "
    "more with the space cleared.",
    "unknown": "Record the joint alone, slowly and fast, with and without load, and "
    "diagnose again.",
}


def next_step(name: str) -> str:
    return _STEPS.get(name, "Let calibrate fit it, on recordings that move it more.")


def say_evidence(
    suspect: Suspect,
    said: Sequence[str],
    *,
    seconds: float,
    without: float,
    with_it: float,
    rival: tuple[str, float] | None,
) -> str:
    """What putting a cause right does to predictions, against the next best one.

    `without` and `with_it` are errors on its joints in times the noise.
    """
    change = (
        f"With {' and '.join(said)}" if said else _SAID.get(suspect.name, "Corrected")
    )
    text = (
        f"{change}, predictions {seconds:.2g} s ahead are off by {times(with_it)} "
        f"times the noise instead of {times(without)}"
    )
    if rival is not None:
        text += f"; the next best cause, {rival[0]}, leaves {times(rival[1])}"
    return text + "."


_SAID = {
    "joint_sign": "With the sign turned",
    "joint_order": "With the two joints exchanged",
    "rate": "With commands held until the robot looks for them",
    "command_kind": "With position commands taken for velocities",
}


def times(ratio: float) -> str:
    """A ratio with two digits, without exponents."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"
