"""Whether a reality lies within a certificate's limits."""

import pytest

from realworthy.certification.certificate.certificate import Certificate, find_uncovered
from realworthy.certification.certificate.results import Validity, ValidityRange
from realworthy.realities import Reality, load_reality
from realworthy.realities.file import RealityFile, RealityNoise
from realworthy.realities.reality import make_reality
from tests.certification.certificates import certify_cells

VALIDITY = Validity(
    scale=1.0,
    parameters={
        "cart.mass": ValidityRange(lower=0.8, upper=1.2, nominal=1.0),
        "pole.damping": ValidityRange(lower=0.0003, upper=0.001, nominal=0.0005),
    },
    noise={"cart.position": 0.001, "pole.position": 0.002, "cart.velocity": 0.01},
    rate=50.0,
    inputs={},
    lower=0.9,
    content=0.9,
    confidence=0.95,
    reality_count=64,
    episode_count=1024,
    mean=0.99,
    worst=0.9,
    worst_tenth=0.92,
)


def make(noise: RealityNoise | None = None, **e: float) -> Reality:
    parameters = {name.replace("_of_", ".", 1): value for name, value in e.items()}
    file = RealityFile(
        schema=1, twin="cartpole", parameters=parameters, noise=noise or RealityNoise()
    )
    return make_reality("one", file)


def test_inside_nothing_is_said():
    real = make(RealityNoise(position=0.001, velocity=0.01), cart_of_mass=1.2)
    assert list(find_uncovered(VALIDITY, real)) == []


@pytest.mark.parametrize(
    ("real", "said"),
    [
        (make(cart_of_mass=1.21), "'cart.mass' is 1.21, outside 0.8 … 1.2."),
        (make(pole_of_mass=0.12), "'pole.mass' is 0.12; only 0.1 was tried."),
        (
            make(RealityNoise(position=0.0015)),
            "noise of position is 0.0015; at most 0.001",
        ),
        (
            make(RealityNoise(process=0.1)),
            "noise of process is 0.1; at most 0 was tried.",
        ),
    ],
    ids=["outside", "not tried", "noise", "process"],
)
def test_outside_is_said(real: Reality, said: str):
    found = list(find_uncovered(VALIDITY, real))
    assert len(found) == 1
    assert said in found[0]


def test_noise_that_the_policy_does_not_see_does_not_matter():
    assert (
        list(find_uncovered(VALIDITY, make(RealityNoise(torque=1.0, gyro=1.0)))) == []
    )


def test_effects_and_faults_are_not_covered():
    file = RealityFile(schema=1, twin="cartpole", timestep_factor=0.5)
    (said,) = find_uncovered(VALIDITY, make_reality("finer", file))
    assert "time step is 0.5 times" in said


def test_another_robot_is_not_covered():
    (said,) = find_uncovered(VALIDITY, load_reality("pendulum_1_easy"))
    assert "no 'cart.mass'" in said


def test_without_limits_nothing_is_covered(balancing):
    certificate: Certificate = certify_cells(balancing)
    assert certificate.find_uncovered(make()) == ("The certificate covers nothing.",)
