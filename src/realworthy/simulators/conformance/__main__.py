"""Checks one of our own simulators by name."""

import sys

from realworthy.simulators.conformance.our_simulators import main

sys.exit(main(sys.argv[1:]))
