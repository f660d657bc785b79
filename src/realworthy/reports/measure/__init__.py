"""Measure: the page of a gap, and its plots for the pages that show a gap too.

Here live `page.py` (what `measure` writes), `view.py` (tables and tiles, also of
`diagnose`, `calibrate` and the tour) and `overlay.py` (robot and twin over time).

May import `elements`, `replay` and `gap`.
"""
