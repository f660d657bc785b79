"""Robots: what can be commanded and measured, real or stand-in.

Here live the `Robot` interface with its `State`, `Command` and `RobotInfo`, and `play`,
which sends commands and returns a `Recording`. Transports over a wire join them here.

Here do not live models, physics or guards: a stand-in is made in `realities`, and what
may reach a motor is decided in `deployment`. numpy only. May import: `recordings`,
`parameters`.
"""

from realworthy.robots.robot import Command, Mode, Robot, RobotInfo, State
from realworthy.robots.trial import drive, play

__all__ = ["Command", "Mode", "Robot", "RobotInfo", "State", "drive", "play"]
