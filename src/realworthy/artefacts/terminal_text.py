"""Text from files and networks, as a terminal may show it.

A name in a file may hold escape codes that recolour, move the cursor or retitle the
window of whoever prints it. Shown as `\\x1b`, they do nothing and are seen.
"""

import re

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Control codes but for tab and line end; and those that turn the direction of text."""


def plain(text: str) -> str:
    """The text with control codes written out."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
