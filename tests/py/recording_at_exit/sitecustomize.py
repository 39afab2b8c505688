"""For programs of the tests that import flamelet themselves: leaves a recording behind, which the test then checks.

On the path through `running.recorded()`. Does nothing where flamelet was not imported or never started.
"""

import atexit
import os
import sys


def _leave_recording() -> None:
    session = sys.modules.get("flamelet.session")
    if session is None:
        return
    try:
        lines = session.recording_lines("program.py")
    except session.FlameletError:
        return
    name = os.path.join(os.environ["TEST_RECORDINGS"], f"{os.getpid()}.flamelet")
    with open(name, "wb") as file:
        file.write(lines)


# Handlers run in the opposite order: the first one is the last to run, when flamelet has ended its session.
atexit.register(_leave_recording)
