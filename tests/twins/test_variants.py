"""A variant changes the compiled options that it names, and nothing else."""

import mujoco
import numpy as np
import pytest

from realworthy.twins import load_twin
from realworthy.twins.variants import Variant, apply_variant


@pytest.fixture(scope="module")
def twin():
    return load_twin("quadruped")


def test_no_variant_is_the_twin_itself(twin):
    assert apply_variant(twin, Variant()) is twin


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("euler", mujoco.mjtIntegrator.mjINT_EULER),
        ("implicit", mujoco.mjtIntegrator.mjINT_IMPLICIT),
        ("implicitfast", mujoco.mjtIntegrator.mjINT_IMPLICITFAST),
        ("rk4", mujoco.mjtIntegrator.mjINT_RK4),
    ],
)
def test_integrators(twin, name, kind):
    model = apply_variant(twin, Variant(integrator=name)).compiled.model
    assert model.opt.integrator == kind


def test_time_step_by_factor(twin):
    before = twin.compiled.model.opt.timestep
    model = apply_variant(twin, Variant(timestep=0.5)).compiled.model
    assert model.opt.timestep == pytest.approx(before / 2)


def test_cones_and_stiffness_of_friction(twin):
    option = apply_variant(twin, Variant(cone="elliptic", impratio=10)).compiled.model
    assert option.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    assert option.opt.impratio == 10


def test_contacts_by_factor(twin):
    before = twin.compiled.model
    after = apply_variant(twin, Variant(contact_time=2.0)).compiled.model
    times = before.geom_solref[:, 0]
    assert (times > 0).all()
    assert after.geom_solref[:, 0] == pytest.approx(2 * times)
    assert after.geom_solref[:, 1] == pytest.approx(before.geom_solref[:, 1])


def test_parameters_and_masses_stay(twin):
    varied = apply_variant(
        twin, Variant(integrator="rk4", timestep=0.5, cone="elliptic", contact_time=0.5)
    )
    assert varied.space.names == twin.space.names
    soft = np.array([name.endswith(".softness") for name in twin.space.names])
    before, after = twin.space.nominal, varied.space.nominal
    assert after[~soft] == pytest.approx(before[~soft])
    assert after[soft] == pytest.approx(0.5 * before[soft])  # what contact_time is
    masses = twin.compiled.model.body_mass
    assert np.array_equal(varied.compiled.model.body_mass, masses)


def test_the_twin_given_stays(twin):
    before = twin.compiled.model.opt.integrator
    apply_variant(twin, Variant(integrator="rk4"))
    assert twin.compiled.model.opt.integrator == before
