"""Certificate: the page of `certify`.

Here live `page.py` (what the template asks for), and one file for each part
of the page: `cells.py` (the map of conditions), `charts.py`, `limits.py` (ranges and
the worst case), `failures.py` (failed episodes, drawn) and `wording.py` (sentences).

May import `elements`, `replay` and `certification`.
"""
