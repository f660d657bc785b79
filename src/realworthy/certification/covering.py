"""Whether a reality lies within the limits for which a certificate speaks."""

from collections.abc import Iterator

from realworthy.certification.results import Validity
from realworthy.realities import Reality

_SAME = 1e-9
"""Share by which two numbers may differ and be the same."""


def find_uncovered(validity: Validity, reality: Reality) -> Iterator[str]:
    """What of a reality the validity does not speak of, a sentence each."""
    strange = [n for n in validity.parameters if n not in reality.twin.space]
    if strange:  # a calibrated twin may have another name, and has the same parts
        yield f"It is one of '{reality.twin.name}', which has no '{strange[0]}'."
        return
    yield from _find_parameters(validity, reality)
    yield from _find_noise(validity, reality)
    file = reality.file
    for effect in file.effects:
        yield f"It has {effect.__struct_config__.tag}, which the twin lacks."
    plain = type(file.interface)()
    for name in file.interface.__struct_fields__:
        if getattr(file.interface, name) != getattr(plain, name):
            yield f"Its interface has {name}."
    if file.timestep_factor != 1.0:
        yield f"Its time step is {file.timestep_factor:g} times the twin's."


def _find_parameters(validity: Validity, reality: Reality) -> Iterator[str]:
    space, true = reality.twin.space, reality.file.parameters
    for name, limits in validity.parameters.items():
        value = true.get(name, space[name].nominal)
        slack = _SAME * max(abs(limits.lower), abs(limits.upper))
        if not limits.lower - slack <= value <= limits.upper + slack:
            yield f"'{name}' is {value:g}, outside {limits.lower:g} … {limits.upper:g}."
    for name, value in true.items():
        nominal = space[name].nominal
        is_nominal = abs(value - nominal) <= _SAME * max(abs(nominal), 1.0)
        if name not in validity.parameters and not is_nominal:
            yield f"'{name}' is {value:g}; only {nominal:g} was tried."


def _find_noise(validity: Validity, reality: Reality) -> Iterator[str]:
    noise = reality.file.noise
    for name in noise.__struct_fields__:
        tried = [sd for signal, sd in validity.noise.items() if _is_of(signal, name)]
        most, sd = min(tried, default=0.0), getattr(noise, name)
        is_seen = bool(tried) or name == "process"  # which moves the robot itself
        if is_seen and sd > most * (1 + _SAME):
            yield f"Its noise of {name} is {sd:g}; at most {most:g} was tried."


def _is_of(signal: str, kind: str) -> bool:
    """Whether a kind of noise is on a signal; noise of position is of joints."""
    owner, _, last = signal.rpartition(".")
    if kind in ("position", "velocity", "torque"):
        return last == kind and owner != "base"
    return owner.endswith(kind)
