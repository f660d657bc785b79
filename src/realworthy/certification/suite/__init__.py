"""Suite: what a policy is tested on.

Here live the suite file (`suite.py`: cells, margins, worst-case search, coverage,
budgets) and one condition of play (`condition.py`: engine, numerics, drives, sensors,
link, parameters).

Here does not live what runs a suite (`examination`). May import `certificate.results`
for the names of groups, `contract.columns`, and rooms above certification.
"""
