"""The command line: the only reader of sys.argv, and the only home of tyro.

One file per command, each a dataclass of its arguments with a `run` that returns the
exit status: 0 done, 1 a negative verdict, 2 a user's mistake. Commands load what they
need when they run, so that `--help` is quick. `show_*.py` are the pages of `show`,
`printing.py` the look of every table, `output.py` what programs read.
"""

from realworthy.cli.main import main

__all__ = ["main"]
