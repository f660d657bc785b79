"""Certificate: what came out, as plain numbers that are kept as JSON and JUnit.

Here live results of cells, margins, coverage and search (`results.py`), the tests
behind a verdict (`statistics.py`), the certificate and whether it covers a robot
(`certificate.py`) and its JUnit file (`junit.py`).

Here does not live what plays or judges (`examination`) nor the page
(`reports.certificate`). May import `contract.finding`, `gap` and rooms above it.
"""
