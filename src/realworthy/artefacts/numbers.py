"""Numbers as files may hold them; others are refused where a file is read."""

import sys
from typing import Annotated, TypeAlias

from msgspec import Meta

_LARGEST_FINITE = sys.float_info.max
"""The largest finite number: msgspec takes no infinity as a bound."""

Finite: TypeAlias = Annotated[float, Meta(ge=-_LARGEST_FINITE, le=_LARGEST_FINITE)]
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=_LARGEST_FINITE)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=_LARGEST_FINITE)]
