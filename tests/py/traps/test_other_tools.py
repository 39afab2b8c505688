"""Other profilers, tracers and debuggers in the same process: they keep working, and so do we."""

from __future__ import annotations

import sys

import pytest

from both import Both

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

trap = pytest.mark.trap
ONE_PROFILE_FUNCTION = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="up to 3.11 a thread has one profile function: while it is theirs we see nothing"
)

# What other tools get to see must be the same with and without flamelet.
WORK = """
from tools import *
from greenlet import getcurrent, greenlet, settrace, gettrace
main = getcurrent()
def worker(): first(); main.switch(); second()
def first(): leaf()
def second(): leaf(); leaf()
def leaf(): pass
def work():
    task = greenlet(worker); task.switch(); leaf(); task.switch()
"""
# The calls of one work().
ONE = {"work": 1, "worker": 1, "first": 1, "second": 1, "leaf": 4}


def times(n: int, **more: int) -> dict[str, int]:
    return {"<module>": 0, **{name: n * count for name, count in ONE.items()}, **more}


@trap(20)
def test_the_program_takes_all_switch_tracers_away(both: Both) -> None:
    # GIVEN a program that calls settrace(None) in the middle of a session
    seen = both(
        WORK
        + """
start()
work()
say(settrace(None) is None or profiled)
end = monotonic() + 0.5
rounds = 0
while monotonic() < end: work(); fresh = eval("lambda: None"); fresh()
note("before", stack())
settled = True
def settled_work(): work()
settled_work(); settled_work()
stop()
say(gettrace() is None)
""",
        lost=("displaced", "unmatched"),
    )
    # THEN that is noticed and counted, and switches are seen again: after a moment everything is exact
    assert seen.lost["displaced"] >= 1
    paths = seen.paths()
    assert paths["<module>", "settled_work", "work", "leaf"] == 2
    assert paths["<module>", "settled_work", "work"] == 2
    assert not [path for path in paths if path[:3] == ("<module>", "settled_work", "work") and "worker" in path]


@trap(20)
@pytest.mark.parametrize(
    "chains",
    [True, False],
)
def test_another_switch_tracer_is_installed_in_the_middle(both: Both, chains: bool) -> None:
    # GIVEN a tracer that the program installs while profiled, which calls the one before it, or forgets it
    seen = both(
        WORK
        + f"""
log = []
def tracer(event, pair):
    log.append(event)
    if {chains} and previous: previous(event, pair)
start()
work()
previous = settrace(tracer)
end = monotonic() + 0.5
while monotonic() < end: work(); fresh = eval("lambda: None"); fresh()
log.clear()
def settled_work(): work()
settled_work(); settled_work()
say(log)
stop()
say(gettrace() is tracer or gettrace())
log.clear(); work(); say(log)
""",
        lost=() if chains else ("displaced", "unmatched"),
    )
    # THEN it gets every switch, and so do we, after a moment at the latest
    assert seen.said == [[["switch"] * 8], [True], [["switch"] * 4]]
    paths = seen.paths()
    assert paths["<module>", "settled_work", "work", "leaf"] == 2
    assert not [path for path in paths if path[:3] == ("<module>", "settled_work", "work") and "worker" in path]


@trap(21)
@pytest.mark.parametrize(
    "when",
    ["before", "after"],
)
def test_gevent_assert_switches(both: Both, when: str) -> None:
    # GIVEN gevent's own tracer, installed before or after ours, which takes what was there before back at its end
    begin, later = ("", "start(); ") if when == "after" else ("start(); ", "")
    seen = both(
        f"""
        from tools import *
        import gevent, gevent.util
        def worker(): leaf(); gevent.sleep(0.001); leaf()
        def leaf(): pass
        def inside(): gevent.joinall([gevent.spawn(worker) for _ in range(3)]); leaf()
        def outside(): gevent.joinall([gevent.spawn(worker) for _ in range(3)]); leaf()
        gevent.sleep(0)
        {begin}
        try:
            with gevent.util.assert_switches(hub_only=False):
                {later}inside()
        except AssertionError as error: say("no switch")
        end = monotonic() + 0.3
        while monotonic() < end: gevent.sleep(0.01); eval("lambda: None")()
        outside()
        stop()
        """,
        lost=("displaced", "unmatched"),
    )
    # THEN switches are seen inside the block, and after it
    paths = {path: count for path, count in seen.paths().items() if path[-1] != "<listcomp>"}
    assert paths["<module>", "inside", "leaf"] == paths["<module>", "outside", "leaf"] == 1
    assert paths["worker",] == 6
    assert paths["worker", "leaf"] == 12
    assert seen.group("worker").ended == 6
    assert [path for path in paths if path[0] != "worker" and "worker" in path] == []


@trap(21)
@pytest.mark.parametrize("when", ["before", "after"])
def test_gevent_monitor_thread(both: Both, when: str) -> None:
    # GIVEN gevent's monitor thread, which reports blocked hubs, begun before or after us
    first, second = ("start()", "monitor()") if when == "after" else ("monitor()", "start()")
    seen = both(
        f"""
        from tools import *
        import gevent, gevent.events, warnings
        warnings.simplefilter("ignore")  # that it cannot watch memory without psutil
        def monitor():
            gevent.config.monitor_thread, gevent.config.max_blocking_time = True, 0.05
            gevent.config.print_blocking_reports = False
            gevent.events.subscribers.append(lambda event: reports.append(type(event).__name__))
            gevent.get_hub().start_periodic_monitoring_thread()
        reports = []
        def worker(): leaf(); hold(); gevent.sleep(0.001); leaf()
        def hold(): burn(0.1)
        def leaf(): pass
        def program(): gevent.spawn(worker).join(); gevent.sleep(0.01); gevent.spawn(worker).join()
        gevent.sleep(0.01)  # its hub has to have run once before it is watched
        {first}; gevent.sleep(0.01); {second}; gevent.sleep(0.01)
        program()
        # Whether it sees one slice that is long depends on when it looks.
        def until_reported():
            end = monotonic() + 30
            while "EventLoopBlocked" not in reports and monotonic() < end: time.sleep(0.5); gevent.sleep(0.001)
        gevent.spawn(until_reported).join()
        stop()
        say("EventLoopBlocked" in reports)
        """
    )
    # THEN it still reports, and what we see is exact
    assert seen.said == [[True]]
    paths = seen.paths()
    assert (paths["worker",], paths["worker", "leaf"], paths["worker", "hold"]) == (2, 4, 2)
    assert seen.group("worker").ended == 2
    assert [path for path in paths if path[0] != "worker" and "worker" in path] == []


@trap(22)
@pytest.mark.parametrize(
    "order",
    [
        "ours first, stopped first",
        "ours first, stopped last",
        "ours last, stopped first",
        "ours last, stopped last",
    ],
)
def test_tracers_come_and_go_in_any_order(both: Both, order: str) -> None:
    # GIVEN another tracer that chains, as debuggers' do, and both come and go in each order, twice
    ours_first, stopped_first = order.startswith("ours first"), order.endswith("stopped first")
    install = "start(); theirs()" if ours_first else "theirs(); start()"
    remove = "stop(); theirs_off()" if stopped_first else "theirs_off(); stop()"
    seen = both(
        WORK
        + f"""
log, chain = [], []
def tracer(event, pair):
    log.append(event)
    if chain[-1]: chain[-1](event, pair)
def theirs(): chain.append(settrace(tracer))
def theirs_off():
    # As gevent does it: back to what was there before, whatever is there now.
    settrace(chain[-1])
for _ in range(2):
    {install.replace("; ", chr(10) + "    ")}
    log.clear(); work(); say(len(log))
    {remove.replace("; ", chr(10) + "    ")}
    log.clear(); work(); work(); say(len(log))
    if {not ours_first and not stopped_first}: settrace(None)
say(gettrace() is None or gettrace() is tracer or "flamelet's")
""",
        lost=("displaced", "unmatched"),
    )
    # THEN the other one gets what it would have got without us, and we see each stretch
    assert seen.calls["worker"] == 2
    assert seen.calls["leaf"] == 8
    assert seen.said[-1][0] is True


@trap(23)
def test_the_thread_pool_takes_the_profile_function_away(both: Both) -> None:
    # GIVEN jobs in gevent's thread pool, which sets a profile function before each and None after it
    seen = both(
        """
        from tools import *
        import gevent
        from gevent.threadpool import ThreadPool
        def job(n): leaf(); inner(); return n
        def inner(): leaf()
        def leaf(): pass
        def worker(n):
            got.append(pool.apply(job, (n,))); leaf()
        got = []
        pool = ThreadPool(2)
        pool.apply(job, (99,))
        start()
        gevent.joinall([gevent.spawn(worker, n) for n in range(20)])
        stop()
        say(sorted(got)); pool.kill()
        """
    )
    # THEN each job was seen, on the worker's thread
    calls = seen.calls
    assert (calls["job"], calls["inner"], calls["worker"], calls["leaf"]) == (20, 20, 20, 60)
    assert seen.paths()["job", "inner", "leaf"] == 20


@trap(24)
@ONE_PROFILE_FUNCTION
def test_cprofile_at_the_same_time(both: Both) -> None:
    # GIVEN cProfile over the same work
    order = "start(); profile.enable(); work(); work(); profile.disable(); work(); stop()"
    seen = both(
        WORK
        + f"""
import cProfile, pstats
profile = cProfile.Profile()
{order}
stats = pstats.Stats(profile).stats
say(sorted([key[2], value[0]] for key, value in stats.items() if key[0] == __file__))
"""
    )
    # THEN both have counted the same
    assert [row for row in seen.said[0][0] if row[0] in ("leaf", "second")] == [["leaf", 8], ["second", 2]]
    assert seen.calls == times(3)


@trap(24)
def test_coverage_at_the_same_time(both: Both) -> None:
    # GIVEN coverage of the same work, by the means that it chooses itself
    pytest.importorskip("coverage", reason="coverage has no release for this Python")
    seen = both(
        WORK
        + """
import coverage
measure = coverage.Coverage(data_file=None, concurrency="greenlet", include=[__file__])
measure.start()
start()
work(); work()
stop()
measure.stop()
lines = measure.get_data().lines(os.path.realpath(__file__))
text = open(__file__).read().splitlines()
say(sum("leaf()" in text[n - 1] for n in lines))
"""
    )
    # THEN it has its lines, and we have our calls
    assert seen.said[0][0] >= 3
    assert seen.calls == times(2)


@trap(24)
def test_profile_and_trace_functions_at_the_same_time(both: Both) -> None:
    # GIVEN a program that has a trace function of its own, and a profile function
    profile = "sys.setprofile(on_profile)" if sys.version_info >= (3, 12) else "None"
    seen = both(
        WORK
        + f"""
from collections import Counter
profiled_calls, lines = Counter(), Counter()
def on_profile(frame, event, arg):
    if event == "call" and frame.f_code.co_filename == __file__: profiled_calls[frame.f_code.co_name] += 1
def on_trace(frame, event, arg):
    if frame.f_code.co_filename != __file__ or frame.f_code.co_name not in ("worker", "leaf", "second"): return None
    lines[frame.f_code.co_name, event] += 1
    return on_trace
start()
sys.settrace(on_trace); {profile}
work(); work()
sys.settrace(None); sys.setprofile(sys.getprofile() and None) if {sys.version_info >= (3, 12)} else None
work()
stop()
say(sorted(profiled_calls.items()), sorted([*key, value] for key, value in lines.items()))
"""
    )
    # THEN they see what they would see, and so do we
    calls = {name: count for name, count in seen.calls.items() if not name.startswith(("on_", "<l", "<g"))}
    assert calls == times(3)


@trap(24)
def test_the_program_sets_a_profile_function_where_there_is_only_one(both: Both) -> None:
    # GIVEN a program that sets a profile function in the middle and takes it back
    seen = both(
        WORK
        + """
seen_by_it = []
def on_profile(frame, event, arg):
    if event == "call" and frame.f_code.co_filename == __file__: seen_by_it.append(frame.f_code.co_name)
def settled_work(): work()
start()
work()
sys.setprofile(on_profile); work(); sys.setprofile(None)
settled_work()
stop()
say(seen_by_it, sys.getprofile() is None)
""",
        lost=("unmatched", "displaced") if sys.version_info < (3, 12) else (),
    )
    # THEN it gets its events
    assert seen.said == [[["work", "worker", "first", "leaf", "leaf", "second", "leaf", "leaf"], True]]
    # AND we get ours: from 3.12 on all of them, before it at least when it is gone again
    if sys.version_info >= (3, 12):
        assert {name: count for name, count in seen.calls.items() if name in ONE} == {
            name: 3 * count for name, count in ONE.items()
        }
    assert seen.paths()["<module>", "settled_work", "work", "leaf"] == 1


# What may be counted as shed where a thread had no events for a while.
MISSED = ("unmatched", "displaced") if sys.version_info < (3, 12) else ()


@trap(24)
def test_each_request_is_profiled_by_the_program_itself(both: Both) -> None:
    # GIVEN greenlets each of which runs cProfile over a part of its work, while another one is parked deep in its stack
    seen = both(
        """
        from tools import *
        import cProfile, gevent, gevent.event
        def request(n):
            before()
            profile = cProfile.Profile(); profile.enable(); measured(); profile.disable()
            gevent.sleep(0.001)
            after()
        def before(): leaf()
        def measured(): leaf()
        def after(): leaf(); leaf()
        def leaf(): pass
        def parked(): inside()
        def inside(): event.wait(); leaf()
        event = gevent.event.Event()
        start()
        deep = gevent.spawn(parked); gevent.sleep(0.001)
        for n in range(20): gevent.spawn(request, n).join()
        event.set(); deep.join()
        gevent.sleep(0)
        def settled(): after()
        settled()
        stop()
        say(deep.successful())
        """,
        lost=MISSED,
    )
    # THEN from its next switch on all is seen again, where it is
    paths = seen.paths()
    assert paths["request",] == 20
    assert paths["request", "before", "leaf"] == 20
    assert paths["request", "after", "leaf"] == 40
    assert paths["parked", "inside", "leaf"] == 1
    assert paths["<module>", "settled", "after", "leaf"] == 2
    assert seen.states()["request"] == ["ended"] * 20
    assert [path for path in paths if path[0] not in ("request", "<module>") and "request" in path] == []


@trap(24)
def test_a_profile_function_is_removed_where_there_are_no_greenlets(both: Both) -> None:
    # GIVEN a thread whose profile function was set and taken away, another one that calls functions, and a third one
    # that starts
    seen = both(
        """
        from tools import *
        def on_profile(frame, event, arg): pass
        def hidden(): leaf()
        def outer(): leaf(); pauses(); settled()
        def settled(): leaf(); leaf()
        def pauses(): thread = threading.Thread(target=time.sleep, args=(0.05,)); thread.start(); thread.join()
        def ticks():
            while not over: tick(); time.sleep(0.002)
        def tick(): pass
        def leaf(): pass
        over = []
        ticker = threading.Thread(target=ticks); ticker.start()
        start()
        sys.setprofile(on_profile); hidden(); sys.setprofile(None)
        outer(); settled()
        stop()
        over.append(True); ticker.join()
        """,
        lost=MISSED,
    )
    # THEN from there on all is seen again
    paths = seen.paths()
    assert paths["<module>", "outer", "settled", "leaf"] == 2
    assert paths["<module>", "settled", "leaf"] == 2


@trap(25)
@ONE_PROFILE_FUNCTION
def test_a_callback_of_another_tool_switches(both: Both) -> None:
    # GIVEN a profile function in Python that switches greenlets: until it returns, its thread has no events
    seen = both(
        WORK
        + """
def in_callback(): main_switch()
def main_switch(): waiting.switch()
def waiter():
    for _ in range(3): leaf(); main.switch(); leaf()
def on_profile(frame, event, arg):
    if event == "call" and frame.f_code.co_name == "target" and getcurrent() is main: in_callback()
def target(): leaf()
def settled_work(): work()
waiting = greenlet(waiter)
start()
work()
sys.setprofile(on_profile)
for _ in range(3): target()
sys.setprofile(None)
settled_work()
work()
stop()
""",
        lost=("unmatched",),
    )
    # THEN what it silenced is not counted, and whatever comes after is exact
    paths = seen.paths()
    assert paths["<module>", "target"] == 3
    assert paths["<module>", "target", "leaf"] == 3
    assert paths["<module>", "settled_work", "work", "leaf"] == 1
    assert paths["<module>", "work", "leaf"] == 2
    assert paths["worker", "second", "leaf"] == 6
