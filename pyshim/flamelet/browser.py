"""Opens the live view in a browser, with nothing of that left in the program that is going to run."""

from __future__ import annotations

import html
import os
import sys
import tempfile

_OPENER = os.path.join(os.path.dirname(__file__), "open_in_browser.py")
_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}">
<title>flamelet</title>
<a href="{url}">flamelet</a>
"""


def open_page(url: str) -> str:
    """Open the URL. Returns why that was not possible; an empty string where it was.

    The URL holds a token, and command lines can be read by everybody on a machine: so the browser is given a file that
    only its owner can read and that leads there. A process of its own starts the browser; as a child of the program it
    would turn up in its os.wait().
    """
    descriptor, path = tempfile.mkstemp(prefix="flamelet-", suffix=".html")
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(_PAGE.format(url=html.escape(url)))
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, null, descriptor) for descriptor in (0, 1, 2)]
        # Isolated: the modules that it imports must be the standard library's.
        arguments = [sys.executable, "-I", _OPENER, path]
        child = os.posix_spawn(sys.executable, arguments, os.environ, file_actions=actions)
        _, status = os.waitpid(child, 0)
    except OSError as error:
        return f"no browser could be started: {error.strerror or error}"
    finally:
        os.close(null)
    return "" if status == 0 else "no browser was found: open the address yourself"
