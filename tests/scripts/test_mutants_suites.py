"""devtools.mutants_suites: what a run of mutants comes to."""

from collections import Counter

import pytest

from devtools.mutants_suites import result_of
from devtools.results import Result


@pytest.mark.parametrize(
    ("code", "told", "wanted"),
    [
        (0, "seed 7: 4 of 4 mutants killed, 100.0%\n", Result(passed=4)),
        (
            0,
            "survivors: 1\n\nseed 7: 9 of 10 mutants killed, 90.0%\n",
            Result(passed=9, skipped=Counter({"a mutant that no test notices": 1})),
        ),
        (1, "seed 7: 8 of 10 mutants killed, 80.0%, less than 85%\n", Result(passed=8, failed=2)),
        (1, "in equivalent.toml, ...\nseed 7: 4 of 4 mutants killed, 100.0%\n", Result(passed=4, failed=1)),
    ],
    ids=["all", "enough", "too few", "a wrong entry"],
)
def test_survivors_fail_where_they_are_too_many(code: int, told: str, wanted: Result) -> None:
    # GIVEN what the command said WHEN it succeeded THEN its survivors are no failures, else they are, or one is
    assert result_of(code, told) == wanted
