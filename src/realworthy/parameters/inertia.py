"""The ten inertial numbers of a rigid body, as coordinates that are always physical.

The pseudo-inertia J = [[Σ, h], [hᵀ, m]], Σ = ½ tr(I) 1 − I about the body's origin and
h = m·c, is positive definite for real bodies only. With J = U Uᵀ, U upper triangular,

    U = e^α [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

every θ = (α, d1, d2, d3, s12, s23, s13, t1, t2, t3) gives a positive mass e^{2α}, the
centre of mass t, and an inertia that satisfies the triangle inequality (Rucker and
Wensing, "Smooth parameterization of rigid-body inertia", RA-L 2022). The order of the
factors fixes the meaning of θ: compare J, never θ.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from realworthy.errors import RealworthyError

Floats = NDArray[np.float64]
COMPONENTS = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
_DIAGONAL = (0, 1, 2)
_SHEAR = ((0, 1, 4), (1, 2, 5), (0, 2, 6))  # row, column, place in θ


class RigidBody(NamedTuple):
    """Inertial numbers; leading axes are shared by all fields."""

    mass: Floats
    """(…) [kg]"""
    centre: Floats
    """(…, 3) centre of mass in the body frame [m]"""
    inertia: Floats
    """(…, 3, 3) about the centre of mass, in the axes of the body frame [kg·m²]"""


def pseudo_inertia(body: RigidBody) -> Floats:
    """(…, 4, 4) J of a body."""
    mass, centre = np.asarray(body.mass), np.asarray(body.centre)
    # Σ = ½ tr(I) 1 − I = ∫ x xᵀ dm: about the centre, then, by Steiner, + m c cᵀ
    trace = np.trace(body.inertia, axis1=-2, axis2=-1)[..., None, None]
    second = 0.5 * trace * np.eye(3) - body.inertia
    second = (
        second + mass[..., None, None] * centre[..., :, None] * centre[..., None, :]
    )
    first = mass[..., None] * centre  # h = m c
    top = np.concatenate([second, first[..., None]], axis=-1)
    bottom = np.concatenate([first, mass[..., None]], axis=-1)[..., None, :]
    return np.concatenate([top, bottom], axis=-2)


def from_pseudo_inertia(j: Floats) -> RigidBody:
    """The body whose pseudo-inertia is J."""
    mass = j[..., 3, 3]
    centre = j[..., :3, 3] / mass[..., None]
    outer = centre[..., :, None] * centre[..., None, :]
    second = j[..., :3, :3] - mass[..., None, None] * outer
    # I = tr(Σ) 1 − Σ, Σ about the centre
    trace = np.trace(second, axis1=-2, axis2=-1)[..., None, None]
    return RigidBody(mass, centre, trace * np.eye(3) - second)


def to_theta(body: RigidBody) -> Floats:
    """(…, 10) log-Cholesky coordinates; raises for a body that cannot exist."""
    j = pseudo_inertia(body)
    try:
        # J = U Uᵀ with U upper: flip, factor, flip back
        u = np.linalg.cholesky(j[..., ::-1, ::-1])[..., ::-1, ::-1]
    except np.linalg.LinAlgError:
        raise RealworthyError(
            "No rigid body has this inertia: its principal moments break the triangle "
            "inequality, or a mass is not positive.",
            hint="realworthy show TWIN names the body.",
        ) from None
    scale = u[..., 3, 3]  # e^α: J_44 = m = e^{2α}
    theta = np.empty((*j.shape[:-2], 10))
    theta[..., 0] = np.log(scale)
    for i in _DIAGONAL:
        theta[..., 1 + i] = np.log(u[..., i, i] / scale)
    for row, column, place in _SHEAR:
        theta[..., place] = u[..., row, column] / scale
    theta[..., 7:] = u[..., :3, 3] / scale[..., None]
    return theta


def from_theta(theta: ArrayLike) -> RigidBody:
    """The body with these log-Cholesky coordinates (…, 10)."""
    theta = np.asarray(theta, dtype=np.float64)
    u = np.zeros((*theta.shape[:-1], 4, 4))
    for i in _DIAGONAL:
        u[..., i, i] = np.exp(theta[..., 1 + i])
    for row, column, place in _SHEAR:
        u[..., row, column] = theta[..., place]
    u[..., :3, 3] = theta[..., 7:]
    u[..., 3, 3] = 1.0
    u *= np.exp(theta[..., 0])[..., None, None]
    return from_pseudo_inertia(u @ np.swapaxes(u, -1, -2))  # J = U Uᵀ


def stretch(body: RigidBody, matrix: ArrayLike) -> RigidBody:
    """The body after x → A x of its matter: mass stays, centre and inertia follow."""
    a = np.asarray(matrix, dtype=np.float64)
    full = np.zeros((*a.shape[:-2], 4, 4))
    full[..., :3, :3] = a
    full[..., 3, 3] = 1.0
    return from_pseudo_inertia(full @ pseudo_inertia(body) @ np.swapaxes(full, -1, -2))


def principal(inertia: Floats) -> tuple[Floats, Floats]:
    """(…, 3) principal moments, largest first, and (…, 4) w-x-y-z axes in the body."""
    moments, axes = np.linalg.eigh(inertia)
    moments, axes = moments[..., ::-1], np.array(axes[..., ::-1])
    axes[..., :, 2] *= np.sign(np.linalg.det(axes))[..., None]  # right-handed
    return moments, quaternion(axes)


def quaternion(rotation: Floats) -> Floats:
    """(…, 3, 3) rotation matrices → (…, 4) unit quaternions w-x-y-z with w ≥ 0."""
    r = rotation
    # the four squared components; the largest is safe to divide by (Shepperd 1978)
    squares = np.stack(
        [
            1 + r[..., 0, 0] + r[..., 1, 1] + r[..., 2, 2],
            1 + r[..., 0, 0] - r[..., 1, 1] - r[..., 2, 2],
            1 - r[..., 0, 0] + r[..., 1, 1] - r[..., 2, 2],
            1 - r[..., 0, 0] - r[..., 1, 1] + r[..., 2, 2],
        ],
        axis=-1,
    )
    wx, wy, wz = (
        r[..., 2, 1] - r[..., 1, 2],
        r[..., 0, 2] - r[..., 2, 0],
        r[..., 1, 0] - r[..., 0, 1],
    )
    xy, xz, yz = (
        r[..., 1, 0] + r[..., 0, 1],
        r[..., 0, 2] + r[..., 2, 0],
        r[..., 2, 1] + r[..., 1, 2],
    )
    rows = np.stack(
        [
            np.stack([squares[..., 0], wx, wy, wz], -1),
            np.stack([wx, squares[..., 1], xy, xz], -1),
            np.stack([wy, xy, squares[..., 2], yz], -1),
            np.stack([wz, xz, yz, squares[..., 3]], -1),
        ],
        axis=-2,
    )
    best = squares.argmax(-1)[..., None, None]
    q = np.take_along_axis(rows, best, axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., :1] < 0, -q, q)


def rotation(quat_wxyz: ArrayLike) -> Floats:
    """(…, 4) unit quaternions w-x-y-z → (…, 3, 3) rotation matrices."""
    w, x, y, z = np.moveaxis(np.asarray(quat_wxyz, dtype=np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)
