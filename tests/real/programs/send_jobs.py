"""Sends tasks to the worker and prints what they came to, as JSON: a line for each.

`send_jobs.py slow` sends one, and prints its result when it is there.
"""

import json
import sys

from celery import chain, group

from jobs import add, blocks, burns, fails, mixes, retries, slow, too_long, waits

LIMIT = 60


def outcome(result):
    value = result.get(timeout=LIMIT, propagate=False)
    return f"{type(value).__name__}: {value}" if isinstance(value, Exception) else value


def send_all():
    tasks = [task for _ in range(12) for task in (burns, blocks, waits, mixes)]
    sent = [(task.name, task.apply_async((n,), task_id=f"{task.name}-{n}")) for n, task in enumerate(tasks)]
    for number, task in enumerate((fails, retries, too_long)):
        sent.append((task.name, task.apply_async((2,), task_id=f"odd-{number}")))
    for name, result in sent:
        yield name, outcome(result)
    yield "chain", chain(add.s(1, 2), add.s(3), add.s(4)).apply_async().get(timeout=LIMIT)
    yield "group", sorted(group(add.s(n, n) for n in range(10)).apply_async().get(timeout=LIMIT))


if sys.argv[1:] == ["slow"]:
    print(json.dumps(outcome(slow.apply_async((7,), task_id="slow"))))
else:
    for line in send_all():
        print(json.dumps(line))
