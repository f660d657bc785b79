"""A certificate: the verdict, its reasons, and the limits within which it holds."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from realworthy.artefacts import read_bytes, reading
from realworthy.certification.certificate.results import (
    CellResult,
    FailureCase,
    MarginResult,
    Regression,
    TransferGrade,
    Validity,
    ValidityResult,
    WorstResult,
)
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.certification.contract.finding import ContractFinding
from realworthy.realities import Reality

SCHEMA = 1
_COST = 16
"""Bytes of memory for a byte of JSON."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Share of successes."""

    lower: float
    """What at least 90 % of the realities within `validity` show, 95 % confidence."""
    mean: float
    upper: float


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of a policy and what came out; saved as JSON."""

    schema: int = SCHEMA
    verdict: CertificateVerdict
    reasons: tuple[str, ...]
    """Why it did not pass, the gravest first; empty where it did."""
    warnings: tuple[str, ...]
    policy: str
    policy_hash: str
    """SHA-256 of the file."""
    task: str
    twin: str
    suite: str
    bar: float
    seed: int
    success: Bounds
    validity: Validity | None
    failures: tuple[FailureCase, ...]
    interface: tuple[ContractFinding, ...]
    cells: tuple[CellResult, ...]
    coverage: ValidityResult | None
    margins: tuple[MarginResult, ...]
    worst: WorstResult | None
    grade: TransferGrade | None = None
    """Everyday play against the cell that loses most; None: nothing to compare."""
    regression: Regression | None
    versions: dict[str, str]
    created: str
    seconds: float

    def __repr__(self) -> str:
        return (
            f"<certificate of '{self.policy}' at task '{self.task}': {self.verdict}, "
            f"success {self.success.lower:.0%} to {self.success.upper:.0%}>"
        )

    def find_uncovered(self, reality: Reality) -> tuple[str, ...]:
        """Why a reality lies outside the validity, a sentence each; empty: inside.

        Needs the truth of the reality, so it is for stand-ins: of a robot one knows
        only its calibrated belief.
        """
        if (
            self.coverage is not None
            and self.coverage.verdict is not CertificateVerdict.PASS
        ):
            return ("The policy was not shown to work in any limits.",)
        if self.validity is None:
            return ("The certificate covers nothing.",)
        return tuple(find_uncovered(self.validity, reality))


def load_certificate(path: Path | str) -> Certificate:
    with reading(path, "a certificate"):
        return msgspec.json.decode(read_bytes(path, cost=_COST), type=Certificate)


_SAME = 1e-9
"""Share by which two numbers may differ and be the same."""


def find_uncovered(validity: Validity, reality: Reality) -> Iterator[str]:
    """What of a reality the validity does not cover, a sentence each."""
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
