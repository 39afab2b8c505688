"""Which Python code is shown: patterns for modules and files."""

from __future__ import annotations

import os

from . import _ext
from .errors import FlameletError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def set_filters(*, include: str | Sequence[str] = (), exclude: str | Sequence[str] = (), stdlib: bool = True) -> None:
    """Show only some of the code from here on; without arguments, all of it. Also while profiling is on.

    include, exclude: patterns, one or several. A pattern with a slash, or that ends in `.py`, is a glob for the file
    (`*` stands for slashes too; a relative one may begin at any folder, as in `app/views/*`). Every other pattern is a
    glob for the module and what lies below it: `gevent` is `gevent.hub` too. include: what it does not match is hidden.
    exclude: what it matches is hidden. stdlib: False hides Python's own modules, unless `include` has them.

    The time of hidden code stays with the nearest caller that is shown, so sums remain true; its calls are
    not counted. A hub's own function is always shown. What was seen before stays as it is.

    UsageError for what is no pattern.
    """
    patterns = (_patterns("include", include), _patterns("exclude", exclude))
    try:
        _ext.set_filters(*patterns, [] if stdlib else _stdlib_folders())
    except RuntimeError as error:
        raise FlameletError(str(error)) from None


def _patterns(name: str, given: str | Sequence[str]) -> list[str]:
    patterns = [given] if isinstance(given, str) else list(given)
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern or "\0" in pattern:
            raise UsageError(f"{name} has {pattern!r}; a pattern is a text such as gevent, app.views or */plugins/*.py")
        try:
            pattern.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{name} has {pattern!r}, which is no valid Unicode") from None
    return patterns


def _stdlib_folders() -> list[str]:
    folder = os.path.dirname(os.__file__)
    other = folder.replace("/lib64/", "/lib/") if "/lib64/" in folder else folder.replace("/lib/", "/lib64/")
    return sorted({folder, os.path.realpath(folder), other})
