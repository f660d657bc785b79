"""Fewer triangles, the same shape."""

import numpy as np
import pytest

from realworthy.reports.replay.meshes import Mesh, decimate

from .test_shapes import compute_volume


def build_fine_box(count: int) -> Mesh:
    """A cube of side 1 with `count` squares along each edge of each face."""
    line = np.linspace(-0.5, 0.5, count + 1)
    corners, triangles = [], []
    for axis in range(3):
        for side in (-0.5, 0.5):
            u, v = np.meshgrid(line, line, indexing="ij")
            face = np.insert(np.stack([u.ravel(), v.ravel()], 1), axis, side, axis=1)
            first = len(corners) * len(face)
            i, k = np.mgrid[:count, :count]
            a = first + i * (count + 1) + k
            b, c, d = a + count + 1, a + count + 2, a + 1
            pairs = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
            outwards = (side > 0) == (axis != 1)
            triangles.append(pairs if outwards else pairs[:, ::-1])
            corners.append(face)
    return Mesh(np.concatenate(corners), np.concatenate(triangles))


def test_a_box_keeps_its_edges():
    box = build_fine_box(40)
    assert compute_volume(box) == pytest.approx(1.0)
    (thin,) = decimate([box], 800)
    assert 200 < len(thin.triangles) <= 800
    assert compute_volume(thin) == pytest.approx(1.0, rel=0.01)
    assert np.abs(thin.vertices).max() <= 0.5 + 1e-3
    for corner in np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T:
        assert np.linalg.norm(thin.vertices - corner, axis=1).min() < 0.005


def test_a_ball_stays_round():
    box = build_fine_box(40)
    away = np.linalg.norm(box.vertices, axis=1, keepdims=True)
    (thin,) = decimate([Mesh(box.vertices / away, box.triangles)], 1000)
    assert len(thin.triangles) <= 1000
    assert np.linalg.norm(thin.vertices, axis=1) == pytest.approx(1.0, abs=0.02)
    assert compute_volume(thin) == pytest.approx(4 / 3 * np.pi, rel=0.05)


def test_what_is_small_already_is_left_alone():
    box = build_fine_box(2)
    assert decimate([box], 48) == [box]


def test_small_parts_stay_beside_large_ones():
    box = build_fine_box(30)
    small = Mesh(box.vertices * 0.02, box.triangles)
    large, tiny = decimate([box, small], 3000)
    assert len(large.triangles) + len(tiny.triangles) <= 3000
    assert compute_volume(tiny) == pytest.approx(0.02**3, rel=0.05)


def test_simple_meshes_stay_as_they_are():
    box, plain = build_fine_box(30), build_fine_box(1)
    thinned, kept = decimate([box, plain], 2000)
    assert kept is plain
    assert len(thinned.triangles) <= 2000 - 12
