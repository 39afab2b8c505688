"""Which statements are found, and what is done to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from statements import Mutant, all_mutants, draw, of_file, statements_of


def whats(body: str, returns: str = "int") -> set[str]:
    """All that would be done to this body of a function."""
    source = f"{returns} f(int a, int b)\n{{\n{body}\n}}\n".encode()
    return {
        Mutant(statement, alteration).what.partition("  in: ")[0]
        for statement in statements_of("core/f.c", source)
        for alteration in (statement.removal, *statement.changes)
        if alteration is not None
    }


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("g(a);", {"removed: g(a);"}),
        ("if (a < b) g();", {"< -> <=", "(a < b) -> (!(a < b))", "removed: g();"}),
        ("while (a && !b) a++;", {"&& -> ||", "! -> ", "(a && !b) -> (!(a && !b))", "++ -> --", "removed: a++;"}),
        ("for (a = 3; a; a -= b) ;", {"3 -> 4", "3 -> 2", "-= -> +="}),
        ("int c = a & 0x10u;", {"& -> |", "0x10u -> 17u", "0x10u -> 15u"}),
        ("return a ? b : 0;", {"a -> !(a)", "0 -> 1", "a ? b : 0 -> (a ? b : 0) + 1"}),
        ("break;", {"removed: break;"}),
        ("goto out;", {"removed: goto out;"}),
        (
            "atomic_store_explicit(&x, a, memory_order_release);",
            {"removed: " + "atomic_store_explicit(&x, a, memory_order_release);"},
        ),
    ],
)
def test_what_is_done(body: str, wanted: set[str]) -> None:
    """GIVEN a statement WHEN it is looked at THEN these alterations are found, and no others."""
    assert whats(body) == wanted


@pytest.mark.parametrize(
    "body",
    [
        "assert(a < 3);",
        '_Static_assert(1 < 2, "text");',
        "atomic_thread_fence(memory_order_seq_cst);",
        "/* a < b; */",
        ";",
        "int c = sizeof(int[3]);",
        "int c;",
    ],
)
def test_what_is_left_alone(body: str) -> None:
    """GIVEN an assertion, a fence, a comment, or nothing that acts WHEN it is looked at THEN nothing is done to it."""
    assert whats(body) == set()


def test_texts_are_left_alone() -> None:
    """GIVEN a call with a text and a number WHEN it is looked at THEN the number is changed, never the text."""
    assert whats('g("3 < 4", 5);') == {'removed: g("3 < 4", 5);', "5 -> 6", "5 -> 4"}


@pytest.mark.parametrize(
    ("returns", "wanted"),
    [
        ("bool", "g() -> !(g())"),
        ("struct x *", "g() -> NULL"),
        ("size_t", "g() -> (g()) + 1"),
        ("void *", "g() -> NULL"),
    ],
)
def test_a_returned_value_is_changed_by_its_type(returns: str, wanted: str) -> None:
    """GIVEN a function's type WHEN it returns a value THEN another of that type is returned."""
    assert whats("return g();", returns) == {wanted}


def test_lines_stay_where_they_are() -> None:
    """GIVEN a statement of three lines WHEN it is removed THEN there are as many lines as before."""
    source = b"void f(void)\n{\n    g(1,\n      a,\n      b);\n    h();\n}\n"
    first = statements_of("core/f.c", source)[0]
    assert (first.first_line, first.last_line) == (3, 5)
    assert first.removal is not None
    changed = Mutant(first, first.removal).apply(source)
    assert changed == b"void f(void)\n{\n    {}\n\n\n    h();\n}\n"


def test_an_if_is_its_head() -> None:
    """GIVEN an `if` with a long body WHEN lines are told THEN they are those of its condition."""
    source = b"void f(int a)\n{\n    if (a)\n    {\n        g();\n    }\n}\n"
    conditions = [one for one in statements_of("core/f.c", source) if one.text.startswith("if")]
    assert [(one.first_line, one.last_line) for one in conditions] == [(3, 3)]


def test_a_seed_draws_the_same_again(tiny: Path) -> None:
    """GIVEN a checkout WHEN it is drawn from twice with one seed THEN the same comes out, and all of its statements."""
    once, again, other = draw(tiny, 1), draw(tiny, 1), draw(tiny, 2)
    assert once == again
    assert once != other
    assert {mutant.statement for mutant in once} == {mutant.statement for mutant in other}


def test_keys_are_of_text_not_of_place(tiny: Path) -> None:
    """GIVEN a known mutant WHEN lines are added above it THEN its key is the same, and no two have the same."""
    before = [mutant.key for mutant in all_mutants(tiny, "core/two.c")]
    file = tiny / "core" / "two.c"
    file.write_text("/* more */\n\n" + file.read_text())
    assert [mutant.key for mutant in all_mutants(tiny, "core/two.c")] == before
    assert len(set(before)) == len(before)


def test_a_file_is_named_by_its_end(tiny: Path) -> None:
    """GIVEN mutants of several files WHEN one file is named THEN only its own are left; without a name, all."""
    drawn = draw(tiny, 1)
    assert {mutant.file for mutant in of_file(drawn, ["two.c"])} == {"core/two.c"}
    assert {mutant.file for mutant in of_file(drawn, ["ext/ext.c", "core/two.c"])} == {"core/two.c", "pyshim/ext/ext.c"}
    assert of_file(drawn, ["o.c"]) == []
    assert of_file(drawn, []) == drawn
