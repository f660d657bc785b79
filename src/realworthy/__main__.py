"""`python -m realworthy`."""

from realworthy.cli import main

main()
