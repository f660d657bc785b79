"""Certificates of a few parts, and realities within their limits."""

from collections.abc import Iterator

import numpy as np

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.results import CellResult
from realworthy.certification.examination.conclusion import conclude
from realworthy.certification.examination.parts import SuiteResults
from realworthy.certification.limits.validity import examine_validity
from realworthy.certification.subject import Subject
from realworthy.certification.suite.suite import Coverage, Suite
from realworthy.realities import Reality
from realworthy.realities.file import RealityFile, RealityNoise
from realworthy.realities.reality import make_reality


def certify_limits(subject: Subject, coverage: Coverage) -> Certificate:
    """A certificate of validity alone."""
    found = examine_validity(subject, coverage, bar=0.8, seed=0)
    ran = SuiteResults(cells=(), coverage=found, margins=(), worst=None)
    return conclude(subject, Suite(name="limits"), (), ran, None)


def certify_cells(subject: Subject, *cells: CellResult) -> Certificate:
    ran = SuiteResults(cells=cells, coverage=None, margins=(), worst=None)
    return conclude(subject, Suite(name="cells"), (), ran, None)


def draw_realities(
    certificate: Certificate, count: int, *, seed: int
) -> Iterator[Reality]:
    """Uniform within the limits, with as much noise as was tried."""
    validity = certificate.validity
    assert validity is not None
    rng = np.random.default_rng(seed)
    noise = RealityNoise(
        **{
            kind: min(sds)
            for kind in ("position", "velocity")
            if (sds := [s for n, s in validity.noise.items() if n.endswith(kind)])
        }
    )
    for number in range(count):
        e = {
            name: float(rng.uniform(limits.lower, limits.upper))
            for name, limits in validity.parameters.items()
        }
        file = RealityFile(
            schema=1,
            twin=certificate.twin,
            seed=number,
            parameters=e,
            noise=noise,
            rate=validity.rate,
        )
        yield make_reality(f"inside {number}", file)
