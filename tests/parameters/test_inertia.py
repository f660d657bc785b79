"""The log-Cholesky coordinates of a rigid body."""

import mujoco
import numpy as np
import pytest

from realworthy.errors import RealworthyError
from realworthy.parameters.inertia import (
    RigidBody,
    from_theta,
    principal,
    pseudo_inertia,
    rotation,
    stretch,
    to_theta,
)


def random_bodies(count: int, seed: int) -> RigidBody:
    """Clouds of point masses: physical by construction."""
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(count, 12, 3)) * generator.uniform(
        0.05, 1, (count, 1, 3)
    )
    masses = generator.uniform(0.01, 2, (count, 12))
    mass = masses.sum(1)
    centre = (masses[..., None] * points).sum(1) / mass[:, None]
    arm = points - centre[:, None]
    second = np.einsum("nk,nki,nkj->nij", masses, arm, arm)
    trace = np.trace(second, axis1=1, axis2=2)[:, None, None]
    return RigidBody(mass, centre, trace * np.eye(3) - second)


def test_coordinates_round_trip_for_1000_bodies():
    bodies = random_bodies(1000, seed=1)
    back = from_theta(to_theta(bodies))
    np.testing.assert_allclose(back.mass, bodies.mass, rtol=1e-10)
    np.testing.assert_allclose(back.centre, bodies.centre, atol=1e-10)
    np.testing.assert_allclose(back.inertia, bodies.inertia, rtol=1e-8, atol=1e-10)


def test_mass_is_exp_of_twice_alpha_and_centre_is_t():
    theta = np.array([0.3, 0.1, -0.2, 0.4, 0.2, -0.1, 0.05, 0.11, -0.12, 0.13])
    body = from_theta(theta)
    assert body.mass == pytest.approx(np.exp(0.6))
    np.testing.assert_allclose(body.centre, theta[7:])


def test_10000_random_coordinates_are_all_physical():
    theta = np.random.default_rng(2).normal(size=(10_000, 10))
    bodies = from_theta(theta)
    moments, _ = principal(bodies.inertia)
    assert (bodies.mass > 0).all()
    assert (moments > 0).all()
    assert (moments[:, 1] + moments[:, 2] >= moments[:, 0] * (1 - 1e-9)).all()


def test_mujoco_compiles_what_random_coordinates_describe():
    for theta in np.random.default_rng(3).normal(size=(20, 10)) * 0.7:
        body = from_theta(theta)
        spec = mujoco.MjSpec()
        made = spec.worldbody.add_body(name="b")
        made.add_freejoint()
        made.mass, made.ipos = float(body.mass), body.centre
        i = body.inertia
        made.fullinertia = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]
        made.explicitinertial = True
        model = spec.compile()
        moments, quat = principal(body.inertia)
        np.testing.assert_allclose(model.body_inertia[1], moments, rtol=1e-7)
        axes = rotation(quat)
        np.testing.assert_allclose(
            axes @ np.diag(moments) @ axes.T, body.inertia, rtol=1e-7, atol=1e-9
        )


def test_a_body_that_cannot_exist_is_refused():
    impossible = RigidBody(np.array(1.0), np.zeros(3), np.diag([1.0, 0.1, 0.1]))
    with pytest.raises(RealworthyError, match="triangle inequality"):
        to_theta(impossible)


def test_stretching_a_cloud_of_points_is_stretching_its_inertia():
    generator = np.random.default_rng(4)
    points, masses = generator.normal(size=(9, 3)), generator.uniform(0.1, 1, 9)

    def body(where):
        mass = masses.sum()
        centre = masses @ where / mass
        arm = where - centre
        second = (masses[:, None] * arm).T @ arm
        return RigidBody(np.array(mass), centre, np.trace(second) * np.eye(3) - second)

    matrix = np.eye(3) + 0.4 * np.outer([0, 0.6, 0.8], [0, 0.6, 0.8])
    stretched = stretch(body(points), matrix)
    np.testing.assert_allclose(
        pseudo_inertia(stretched), pseudo_inertia(body(points @ matrix.T)), atol=1e-12
    )
