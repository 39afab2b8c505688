"""A Celery application, for a worker with the gevent pool. Its tasks measure themselves."""

import os
import sys

import gevent
from celery import Celery, signals
from gevent.monkey import get_original

import meter

redis = f"redis://127.0.0.1:{os.environ['REAL_PORT']}/0"
app = Celery("jobs", broker=redis, backend=redis)
app.conf.update(broker_connection_retry_on_startup=True, result_expires=300, worker_hijack_root_logger=True)
nap = get_original("time", "sleep")  # holds the hub


@app.task
def burns(n):
    return meter.burns(n * n)


@app.task
def blocks(n):
    return meter.blocks(n * n, nap)


@app.task
def waits(n):
    return meter.waits(n * n, gevent.sleep)


@app.task
def mixes(n):
    return meter.mixes(n * n, nap, gevent.sleep)


@app.task
def fails(n):
    raise LookupError(f"no {n}")


@app.task(bind=True, max_retries=3)
def retries(self, n):
    if self.request.retries < n:
        raise self.retry(countdown=0.05)
    return self.request.retries


@app.task(time_limit=0.3)
def too_long(n):
    """gevent's Timeout is thrown into it."""
    gevent.sleep(30)


@app.task
def add(x, y):
    return x + y


@app.task
def slow(n):
    """In the middle of this one the worker is told to end."""
    print("slow begins", file=sys.__stdout__, flush=True)
    gevent.sleep(1)
    return n


@signals.worker_shutdown.connect
def save(**_):
    meter.save()
