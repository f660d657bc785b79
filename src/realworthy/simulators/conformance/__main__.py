"""Checks one of our own simulators by name."""

import sys

from realworthy.simulators.conformance.ours import main

sys.exit(main(sys.argv[1:]))
