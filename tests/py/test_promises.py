"""Each promise of the documents has a test that shows it (tests/promises.toml)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from promises import Promise, complaints, load

Write = Callable[..., Path]
ROOT = Path(__file__).parents[2]
PROMISES = load(ROOT / "tests" / "promises.toml")


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: f"{promise.document}: {promise.text[:50]}")
def test_promise_is_shown_by_tests(promise: Promise) -> None:
    assert list(complaints(ROOT, promise)) == []


def test_documents_have_promises() -> None:
    # THEN none of the documents that users read is left out
    documents = {promise.document for promise in PROMISES}
    assert documents >= {"README.md", "protocol.md", "docs/report-json.md"}


TESTS_PY = """
    import pytest
    from helpers import checks, looks

    def test_asserts(): assert f() == 1
    def test_raises():
        with pytest.raises(ValueError): f()
    def test_calls(): compare(f())
    def compare(value): deeper(value)
    def deeper(value): assert value
    def test_imports(): checks()
    def test_only_calls(): looks()
    def test_nothing(): f()
    def test_itself(): test_itself()
    @pytest.mark.skip(reason="later")
    def test_skipped(): assert True
    @pytest.mark.skipif(True, reason="always")
    def test_skipped_too(): assert True
    @pytest.mark.skipif(f(), reason="sometimes")
    def test_sometimes(): assert f()
    def test_skips_itself():
        pytest.skip("later")
        assert f()
    """
TESTS_C = """
static void helper(int value)
{
    assert_int_equal(value, 1);
}

static void test_asserts(void **state)
{
    (void)state;
    assert_true(1);
}

static void test_calls(void **state)
{
    helper(1);
}

static void test_nothing(void **state)
{
    (void)state;
}

static void test_skipped(void **state)
{
    (void)state;
    skip();
    assert_true(1);
}

static void test_forgotten(void **state)
{
    assert_true(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_asserts), TEST(test_calls), TEST(test_nothing), TEST(test_skipped)};
}
"""
TESTS_TS = """
it("GIVEN a thing WHEN it runs THEN it works", () => {
  expect(1).toBe(1);
});
it("does nothing", () => {
  run();
});
it.skip("comes later", () => {
  expect(1).toBe(1);
});
test("on a page", async ({ page }) => {
  await expect(page).toHaveTitle("x");
});
"""
OUTCOMES = {
    "tests/test_a.py::test_asserts": "",
    "tests/test_a.py::test_raises": "",
    "tests/test_a.py::test_calls": "",
    "tests/test_a.py::test_imports": "",
    "tests/test_a.py::test_sometimes": "",
    "tests/test_a.py::test_only_calls": "asserts nothing",
    "tests/test_a.py::test_nothing": "asserts nothing",
    "tests/test_a.py::test_itself": "asserts nothing",
    "tests/test_a.py::test_skipped": "is always skipped",
    "tests/test_a.py::test_skipped_too": "is always skipped",
    "tests/test_a.py::test_skips_itself": "is always skipped",
    "tests/test_a.py::test_missing": "there is no such test",
    "tests/test_b.py::test_asserts": "there is no such file",
    "tests/test_a.py": "there is no such file",
    "tests/test_a.c::test_asserts": "",
    "tests/test_a.c::test_calls": "",
    "tests/test_a.c::test_nothing": "asserts nothing",
    "tests/test_a.c::test_skipped": "is always skipped",
    "tests/test_a.c::test_forgotten": "is in no list of tests",
    "tests/test_a.c::test_missing": "there is no such test",
    "tests/a.test.ts::GIVEN a thing WHEN it runs THEN it works": "",
    "tests/a.test.ts::on a page": "",
    "tests/a.test.ts::does nothing": "asserts nothing",
    "tests/a.test.ts::comes later": "is always skipped",
    "tests/a.test.ts::is missing": "there is no such test",
}


@pytest.mark.parametrize("test", OUTCOMES)
def test_checker_finds_what_is_wrong_with_a_test(test: str, write: Write, tmp_path: Path) -> None:
    # GIVEN a document and tests of all kinds
    write("README.md", "It does\n    what it should.\n")
    write("tests/test_a.py", TESTS_PY)
    write("tests/helpers.py", "def checks(): assert 1\ndef looks(): print(1)\n")
    write("tests/test_a.c", TESTS_C)
    write("tests/a.test.ts", TESTS_TS)
    # WHEN a promise names one of them
    found = list(complaints(tmp_path, Promise("README.md", "It does what it should.", (test,))))
    # THEN what is wrong with it is found
    assert found == ([f"{test}: {OUTCOMES[test]}"] if OUTCOMES[test] else [])


def test_checker_finds_promises_that_are_not_made(write: Write, tmp_path: Path) -> None:
    # GIVEN promises that are in no document
    write("README.md", "It does something else.\n")
    write("test_a.py", "def test_x(): assert 1\n")
    # THEN that is found
    test = "test_a.py::test_x"
    assert list(complaints(tmp_path, Promise("README.md", "It does what it should.", (test,)))) == [
        "README.md does not say: It does what it should."
    ]
    assert list(complaints(tmp_path, Promise("GONE.md", "It does.", (test,)))) == ["there is no GONE.md"]


@pytest.mark.parametrize(
    "entry",
    [
        'document = "a"\ntext = "b"',
        'document = "a"\ntext = "b"\ntests = []',
        'text = " "\ndocument = "a"\ntests = ["x"]',
    ],
)
def test_checker_wants_whole_promises(entry: str, write: Write) -> None:
    # THEN a promise without a document, a text or a test is refused
    with pytest.raises(ValueError, match=r"promise 1 needs document, text and tests"):
        load(write("promises.toml", f"[[promise]]\n{entry}\n"))
