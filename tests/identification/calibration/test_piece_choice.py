"""Pieces that tell most are found without a fit."""

import numpy as np

from realworthy.identification import Problem
from realworthy.identification.calibration.piece_choice import choose_informative_pieces
from realworthy.recordings import Recording, Sidecar
from realworthy.twins import Twin

RATE = 100.0


def make(position: np.ndarray) -> Recording:
    time = np.arange(len(position)) / RATE
    signals = {"joint.position": position, "joint.command": position}
    return Recording(time, signals, Sidecar(command_kind="position"))


def test_moving_pieces_come_before_still_ones(joint: Twin):
    """Eight seconds of rest, of which two in the middle move."""
    t = np.arange(801) / RATE
    moves = (t >= 4) & (t < 6)
    position = np.where(moves, 0.4 * np.sin(8 * (t - 4)) * np.sin(1.6 * (t - 4)), 0.0)
    problem = Problem(joint, make(position), ["joint.kp"], horizon=1.0, noise=1e-3)
    chosen = choose_informative_pieces(problem, 2.0, ["joint"])
    assert [problem.pieces[i].first for i in chosen] == [400, 500]


def test_no_more_is_chosen_than_was_asked_for(joint: Twin):
    t = np.arange(1001) / RATE
    problem = Problem(
        joint, make(0.3 * np.sin(t**1.5)), ["joint.kp"], horizon=1.0, noise=1e-3
    )
    assert len(choose_informative_pieces(problem, 3.0, ["joint"])) == 3
    assert len(choose_informative_pieces(problem, 99.0, ["joint"])) == len(
        problem.pieces
    )
