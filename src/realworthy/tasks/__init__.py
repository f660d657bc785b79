"""What a robot shall do: observations, rewards, commands, endings. Torch from here on.

`task.py` says what a `Task` is, `catalogue.py` lists them in `TASKS`; they live in
`classic`, `arm`, `legged` and `wheels`, with reference controllers that give reference
returns and show that the task can be done. `environment` steps many worlds of a task,
`randomization` says how worlds differ, `adapters` shows worlds to Gymnasium and rsl_rl.
`prepared_twin.py` adds to a twin what it lacks, `contract.py` says what a policy
expects of a robot, `failures.py` why a trial failed.

Learning from it lives in `learning`, judging a policy in `certification`. May import
every room above it, `policies` among them, whose terms are the observations.
"""

from realworthy.errors import MissingExtra

try:
    import torch  # noqa: F401
except ImportError:
    raise MissingExtra("torch", "train", need="Tasks and learning") from None
