"""flamelet: where a greenlet program spends its time, live.

flamelet run script.py          # on the command line

import flamelet                 # in a program
with flamelet.profile():
    work()
for row in flamelet.snapshot().functions:
    print(row.qualname, row.calls, row.own_cpu)
"""

from . import _supported

# Before anything that an older interpreter could stumble over, the extension above all.
_supported.check()

try:
    from ._ext import label
except ImportError as error:
    _supported.explain(error)
    raise
from .errors import FlameletError  # noqa: E402 (after the check)
from .filters import set_filters  # noqa: E402 (after the check)
from .session import Session, is_running, profile, snapshot, start, stop  # noqa: E402 (after the check)

__all__ = [
    "FlameletError",
    "Session",
    "__version__",
    "is_running",
    "label",
    "profile",
    "set_filters",
    "snapshot",
    "start",
    "stop",
]
__version__ = "0.1.0"
