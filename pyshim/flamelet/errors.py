"""What can go wrong for a user of flamelet, each with a message that names the mend."""


class FlameletError(Exception):
    """Base of all errors that flamelet raises on purpose. The message is one line."""


class UsageError(FlameletError):
    """Something was asked for that cannot be done: a port in use, a script that is not there, a wrong setting."""


class RecordingError(FlameletError):
    """A recording cannot be read or written."""


class ProtocolError(RecordingError):
    """A message is not what protocol.md says."""
