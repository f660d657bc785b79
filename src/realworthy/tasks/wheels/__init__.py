"""Wheels: a differential drive goes to a pose, along a path or at a velocity.

`drive.py` has the three tasks, `differential_drive.py` what they share: the arithmetic
between the speeds of two wheels and the motion of the base, commands and measurements.

Here do not live wheeled stand-ins (`realities`). May import `tasks.task`,
`tasks.environment` and rooms above tasks.
"""
