"""Generators and coroutines that end in every way there is."""

from __future__ import annotations

from collections import Counter

import pytest

from both import Both, Paths

trap = pytest.mark.trap
BUILTINS = pytest.mark.parametrize("builtins", [False, True])


@trap(18)
@BUILTINS
def test_a_generator_is_closed(both: Both, builtins: bool) -> None:
    # GIVEN generators that are closed: before their first value, in the middle, in `finally`, and by `yield from`
    seen = both(
        f"""
        from tools import *
        def plain():
            yield 1
            yield 2
        def cleans():
            try: yield 1
            finally: where.append(stack()); leaf()
        def outer(): yield from cleans()
        def close(generator, steps):
            for _ in range(steps): next(generator)
            generator.close(); leaf()
        def leaf(): pass
        where = []
        start(builtins={builtins})
        close(plain(), 0); close(plain(), 1); close(cleans(), 1); close(outer(), 1)
        leaf()
        stop()
        say(where)
        """
    )
    # THEN the stack is right after each, and in `finally` it is what the interpreter says it is
    (where,) = seen.said[0]
    leaves: Paths = Counter((*path, "leaf") for path in where)
    assert seen.paths() == {
        ("<module>",): 0,
        ("<module>", "leaf"): 1,
        ("<module>", "close"): 4,
        ("<module>", "close", "leaf"): 4,
        ("<module>", "close", "plain"): 1,
        ("<module>", "close", "cleans"): 1,
        ("<module>", "close", "outer"): 1,
        ("<module>", "close", "outer", "cleans"): 1,
        **leaves,
    }


@trap(18)
@BUILTINS
def test_an_exception_is_thrown_into_a_generator(both: Both, builtins: bool) -> None:
    # GIVEN generators that get exceptions: caught in them, let through, and thrown down a chain of `yield from`
    seen = both(
        f"""
        from tools import *
        def catches():
            while True:
                try: yield
                except KeyError: caught()
        def lets_through(): yield
        def chain(): yield from link()
        def link(): yield from catches()
        def caught(): where.append(stack())
        def throw(generator, *errors):
            next(generator)
            for error in errors:
                try: generator.throw(error)
                except ValueError: leaf()
            leaf()
        def leaf(): pass
        where = []
        start(builtins={builtins})
        throw(catches(), KeyError, KeyError, ValueError)
        throw(lets_through(), ValueError)
        throw(chain(), KeyError, ValueError)
        leaf()
        stop()
        say(where)
        """
    )
    # THEN each handler ran where the interpreter says it ran, and the stack is right after each throw
    (where,) = seen.said[0]
    handled: Paths = Counter(tuple(path) for path in where)
    assert seen.paths() == {
        ("<module>",): 0,
        ("<module>", "leaf"): 1,
        ("<module>", "throw"): 3,
        ("<module>", "throw", "leaf"): 6,
        ("<module>", "throw", "catches"): 1,
        ("<module>", "throw", "lets_through"): 1,
        ("<module>", "throw", "chain"): 1,
        ("<module>", "throw", "chain", "link"): 1,
        ("<module>", "throw", "chain", "link", "catches"): 1,
        **handled,
    }


@trap(18)
@BUILTINS
def test_a_generator_is_collected(both: Both, builtins: bool) -> None:
    # GIVEN generators in the middle that lose their last reference, some of them in a cycle
    seen = both(
        f"""
        from tools import *
        def values():
            try:
                yield 1
                yield 2
            finally: leaf()
        def plain(): yield 1
        def drop(make): generator = make(); next(generator); del generator; leaf()
        def cycle():
            generator = values(); next(generator)
            loop = [generator]; loop.append(loop); del generator, loop
        def collect(): gc.collect(); leaf()
        def leaf(): pass
        gc.disable()
        start(builtins={builtins})
        drop(values); drop(plain); cycle(); collect()
        leaf()
        stop()
        """
    )
    # THEN what ran then ran below the function that dropped it, or collected it
    paths = seen.paths()
    assert paths == {
        ("<module>",): 0,
        ("<module>", "leaf"): 1,
        ("<module>", "drop"): 2,
        ("<module>", "drop", "leaf"): 2,
        ("<module>", "drop", "values"): 1,
        ("<module>", "drop", "values", "leaf"): 1,
        ("<module>", "drop", "plain"): 1,
        ("<module>", "cycle"): 1,
        ("<module>", "cycle", "values"): 1,
        ("<module>", "collect"): 1,
        ("<module>", "collect", "leaf"): 1,
        ("<module>", "collect", "values"): 0,
        ("<module>", "collect", "values", "leaf"): 1,
    }


@trap(18)
@BUILTINS
def test_a_coroutine_is_cancelled(both: Both, builtins: bool) -> None:
    # GIVEN asyncio tasks that are cancelled while they wait, three calls deep, one of which waits once more then
    seen = both(
        f"""
        from tools import *
        import asyncio
        async def outer(): await middle()
        async def middle():
            try: await inner()
            finally: leaf()
        async def inner():
            try: await asyncio.sleep(10)
            except asyncio.CancelledError:
                leaf()
                await asyncio.sleep(0)
                leaf()
                raise
        def leaf(): pass
        async def main():
            task = asyncio.create_task(outer())
            await asyncio.sleep(0.01)
            task.cancel()
            try: await task
            except asyncio.CancelledError: leaf(); return "cancelled"
        start(builtins={builtins})
        say(asyncio.run(main()))
        leaf()
        stop()
        """
    )
    # THEN each coroutine was called once, and was left once
    assert seen.said == [["cancelled"]]
    assert seen.calls == {"<module>": 0, "outer": 1, "middle": 1, "inner": 1, "main": 1, "leaf": 2 + 1 + 1 + 1}
    paths = seen.paths()
    inner = next(path for path in paths if path[-2:] == ("inner", "leaf"))
    assert paths[inner] == 2
    assert inner[-4:] == ("outer", "middle", "inner", "leaf")
    assert paths["<module>", "leaf"] == 1


@trap(18)
def test_an_asynchronous_generator_is_left_in_the_middle(both: Both) -> None:
    # GIVEN asynchronous generators that are broken out of, closed and collected
    seen = both(
        """
        from tools import *
        import asyncio
        async def values():
            try:
                for i in range(3): await asyncio.sleep(0); yield i
            finally: leaf()
        async def breaks():
            async for value in values(): break
            leaf()
        async def closes():
            generator = values()
            await generator.__anext__()
            await generator.aclose()
            leaf()
        async def whole():
            return [value async for value in values()]
        def leaf(): pass
        async def main(): await breaks(); await closes(); say(await whole()); leaf()
        start()
        asyncio.run(main())
        leaf()
        stop()
        """
    )
    # THEN each was called once
    assert seen.said == [[[0, 1, 2]]]
    calls = {name: count for name, count in seen.calls.items() if name != "<listcomp>"}
    assert calls == {
        "<module>": 0,
        "main": 1,
        "breaks": 1,
        "closes": 1,
        "whole": 1,
        "values": 3,
        "leaf": 3 + 2 + 1 + 1,
    }
    assert seen.paths()["<module>", "leaf"] == 1
