"""Elements: what every page is made of.

Here live the frame and look of a page (`page.py`, with `templates/`), numbers with
units and intervals and tables of them (`numbers.py`), figures (`plots.py`) and the
words for causes, failures and errors (`wording.py`).

Here does not live any page. May import `gap`, and plotly or jinja2 within functions.
"""
