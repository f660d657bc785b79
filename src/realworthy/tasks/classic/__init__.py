"""Classic control: pendulum swing-up, cart-pole and acrobot.

Each file has its tasks, rewards and reference controllers, which show that the task can
be done. Shared by them: `regulator.py` (linear-quadratic gains from a twin's own
equations of motion, and the bell that rewards are made of).

Here do not live arms with a tip to bring somewhere (`arm`). May import `tasks.task`,
`tasks.environment`, `tasks.randomization` and rooms above tasks.
"""
