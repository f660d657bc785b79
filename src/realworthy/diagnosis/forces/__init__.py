"""Suspects in the space of forces: what pushes each joint that the twin has not?

Here lives the balance of every joint along a recording, once for its drive (reported
torque against the drive's law) and once for its mechanics (torque that the motion needs
against torque that the motor gives), and the regression that explains what is left of
both with one suspect after another. Disturbance is additive here: its colour is
estimated from what is left, and suspects are judged against it.

No motion is predicted here; replays confirm what is found (`fitting`, `search`).
"""

from realworthy.diagnosis.forces.explanation import Explained, explain_forces

__all__ = ["Explained", "explain_forces"]
