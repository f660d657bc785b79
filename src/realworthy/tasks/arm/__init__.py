"""Arms: bring the tip to a point and hold it there.

`reach.py` has the tasks and their reference controller, `chain.py` the joints between a
fixed base and the tip: which points they reach, and inverse kinematics.

Here does not live what a twin lacks for the task, such as position servos
(`tasks/prepared_twin.py`). May import `tasks.task`, `tasks.environment` and rooms above
tasks.
"""
