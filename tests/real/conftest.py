"""What all tests here share. They run where flamelet and requirements.txt are: `python -m pytest tests/real`."""

from tries import pytest_runtest_teardown

__all__ = ["pytest_runtest_teardown"]
