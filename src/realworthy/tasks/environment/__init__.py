"""Environment: many worlds of one task, stepped together on tensors.

`Environment` (environment.py) is what learners see, `TaskWorlds` (worlds.py) runs a
task on either simulator, and `Scene` is all worlds as of the last step. Around them
live what lies between a policy and the physics: `measurements.py` and `actuation.py`,
`mirrors.py` (symmetry), `chance.py` (random numbers) and `devices.py` (threads, CUDA
graphs); then `reality.py` (a task on a stand-in robot),
`variety.py` (how worlds differ, in numbers) and `evaluate.py` (one episode in each
world).

Here do not live the tasks themselves (`classic`, `arm`, `legged`, `wheels`), nor how
worlds differ (`randomization`). May import `tasks.task`, `tasks.contract`,
`tasks.randomization` and every room above tasks.
"""
