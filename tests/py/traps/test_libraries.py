"""Libraries that use greenlets in ways of their own."""

from __future__ import annotations

import pytest

from both import Both, near

trap = pytest.mark.trap


@trap(33)
def test_the_hub_of_eventlet_is_replaced(both: Both) -> None:
    # GIVEN a program on eventlet whose hub is replaced by another kind in the middle
    pytest.importorskip("eventlet", reason="eventlet does not work on this Python")
    seen = both(
        """
        from tools import *
        import warnings; warnings.simplefilter("ignore")
        import eventlet, eventlet.hubs
        def worker(): leaf(); spent.append(burn(0.005)); eventlet.sleep(0.01); leaf()
        def leaf(): pass
        def round(): pool = [eventlet.spawn(worker) for _ in range(3)]; [task.wait() for task in pool]; leaf()
        spent = []
        start()
        eventlet.hubs.use_hub("selects")
        round(); first = type(eventlet.hubs.get_hub()).__module__
        eventlet.hubs.use_hub("poll")
        round(); second = type(eventlet.hubs.get_hub()).__module__
        stop()
        say(first, second)
        note("spent", sum(spent))
        """
    )
    # THEN both rounds are exact, and their tasks are told apart from the hubs
    assert seen.said == [["eventlet.hubs.selects", "eventlet.hubs.poll"]]
    calls = seen.calls
    assert (calls["round"], calls["worker"], calls["leaf"]) == (2, 6, 14)
    assert near(seen.total("worker", "cpu"), seen.notes["spent"])
    # eventlet starts a greenlet's function from one of its own.
    tasks = [task for task in seen.snapshot.tasks if "main" in task.entry or task.entry == "worker"]
    assert len(tasks) == 6
    assert all(task.state == "ended" for task in tasks)
    hubs = [task for task in seen.snapshot.tasks if task.hub]
    assert len(hubs) == 2
    assert len({task.thread for task in hubs}) == 1


@trap(34)
@pytest.mark.parametrize("builtins", [False, True])
def test_sqlalchemys_greenlet_across_an_await(both: Both, builtins: bool) -> None:
    # GIVEN SQLAlchemy's bridge: synchronous code in a greenlet of its own, which awaits through its parent
    pytest.importorskip("sqlalchemy", reason="sqlalchemy has no release for this Python")
    seen = both(
        f"""
        from tools import *
        import asyncio
        from sqlalchemy.util import await_only, greenlet_spawn
        async def request(n):
            before(); got = await greenlet_spawn(synchronous, n); after(); return got
        def synchronous(n): leaf(); got = query(n); leaf(); return got
        def query(n): got = await_only(driver(n)); leaf(); return got
        async def driver(n): leaf(); await asyncio.sleep(0.01 * n); leaf(); return n
        async def fails():
            try: await greenlet_spawn(broken)
            except ValueError: after(); return "caught"
        def broken(): await_only(raises())
        async def raises(): await asyncio.sleep(0.001); raise ValueError
        def before(): pass
        def after(): pass
        def leaf(): pass
        async def main(): return await asyncio.gather(*[request(n) for n in range(3)], fails())
        async def warm(): await greenlet_spawn(int)
        asyncio.run(warm())
        start(builtins={builtins})
        say(asyncio.run(main()))
        before()
        stop()
        """
    )
    # THEN each function was called as often as it was, the coroutine once however often it was resumed
    assert seen.said == [[[0, 1, 2, "caught"]]]
    calls = {name: count for name, count in seen.calls.items() if not name.startswith("<")}
    assert calls == {
        "main": 1,
        "request": 3,
        "synchronous": 3,
        "query": 3,
        "driver": 3,
        "fails": 1,
        "broken": 1,
        "raises": 1,
        "before": 4,
        "after": 4,
        "leaf": 3 * 5,
    }
    # AND the synchronous code is a task of its own that has ended
    assert seen.paths()["synchronous", "query", "leaf"] == 3
    assert seen.paths()["<module>", "before"] == 1
    assert seen.states()["synchronous"] == ["ended"] * 3
    # The coroutine that it waits for is awaited outside of it, in asyncio's task.
    assert not [path for path in seen.paths() if path[0] == "synchronous" and "driver" in path]
    assert not [path for path in seen.paths() if path[0] != "synchronous" and "query" in path]


@trap(35)
@pytest.mark.parametrize("start_in", ["before", "in a callback"])
def test_main_is_parked_under_a_dispatcher_greenlet(both: Both, start_in: str) -> None:
    # GIVEN Playwright's shape: a dispatcher greenlet runs the event loop, main waits under it for each answer, and
    # callbacks run in greenlets of their own
    before, inside = ("start()", "") if start_in == "before" else ("", "start();")
    seen = both(
        f"""
        from tools import *
        import asyncio
        from greenlet import getcurrent, greenlet
        class Browser:
            def __init__(self):
                self.loop = asyncio.new_event_loop()
                self.main = getcurrent()
                self.dispatcher = greenlet(self.dispatch)
            def dispatch(self): self.loop.run_until_complete(self.connection())
            async def connection(self):
                self.closed = self.loop.create_future()
                self.main.switch("connected")
                await self.closed
            def sync(self, coroutine):
                # User code, in main or in a callback's greenlet, waits until its answer is there.
                mine = getcurrent()
                task = self.loop.create_task(coroutine)
                task.add_done_callback(lambda _: mine.switch())
                while not task.done(): self.dispatcher.switch()
                return task.result()
            def call_back(self, function): greenlet(function).switch()
            def close(self): self.closed.set_result(None); self.dispatcher.switch()
        async def answer(value): await asyncio.sleep(0.01); return value
        def goto(value): got = browser.sync(answer(value)); spent.append(burn(0.005)); return got
        def on_event(): {inside} leaf(); log.append(goto("in a callback")); leaf()
        def leaf(): pass
        def program():
            log.append(goto(1)); leaf()
            browser.loop.call_soon(browser.call_back, on_event)
            log.append(goto(2)); log.append(goto(3)); leaf()
        log, spent, browser = [], [], Browser()
        {before}
        log.append(browser.dispatcher.switch())
        program()
        browser.close()
        stop()
        say(sorted(map(str, log)), browser.dispatcher.dead)
        note("spent", sum(spent))
        """
    )
    # THEN the user's code is where it is: in main, and in the callback's greenlet
    assert seen.said == [[["1", "2", "3", "connected", "in a callback"], True]]
    paths = seen.paths()
    whole = start_in == "before"
    assert paths["<module>", "program"] == (1 if whole else 0)
    assert paths["<module>", "program", "leaf"] == (2 if whole else 1)
    assert paths["<module>", "program", "goto"] == (3 if whole else 1)
    assert paths["on_event",] == (1 if whole else 0)
    assert paths["on_event", "leaf"] == 2
    assert paths["on_event", "goto"] == 1
    assert seen.states()["on_event"] == ["ended"]
    assert [task.state for task in seen.snapshot.tasks if task.entry.endswith("dispatch")] == ["ended"]
    if whole:
        assert near(seen.total("goto", "cpu"), seen.notes["spent"])
