"""A Flask-SocketIO server on gevent. Its events measure themselves; SIGTERM ends it in good order, SIGINT as Python
does."""

# ruff: noqa: E402 (gevent patches before anything else is imported)

import os
import signal

from gevent import monkey

monkey.patch_all()

import gevent
from flask import Flask
from flask_socketio import SocketIO, join_room, leave_room

import meter

app = Flask(__name__)
socketio = SocketIO(app, async_mode="gevent")
nap = monkey.get_original("time", "sleep")  # holds the hub


@app.get("/")
def index():
    return "chat\n"


@socketio.event
def burns(n):
    return meter.burns(n * n)


@socketio.event
def blocks(n):
    return meter.blocks(n * n, nap)


@socketio.event
def waits(n):
    return meter.waits(n * n, gevent.sleep)


@socketio.event
def mixes(n):
    return meter.mixes(n * n, nap, socketio.sleep)


@socketio.event
def joins(room):
    join_room(room)
    return room


@socketio.event
def says(room, text):
    socketio.emit("said", text, to=room)


@socketio.event
def leaves(room):
    leave_room(room)
    return room


@socketio.event
def counts(n):
    """A task in the background that tells everybody."""

    def count():
        for turn in range(n):
            socketio.sleep(0.01)
            socketio.emit("count", turn)

    socketio.start_background_task(count)


@socketio.event
def fails(n):
    raise LookupError(f"no {n}")


@socketio.event
def slow(n):
    """In the middle of this one the server is told to end."""
    print("slow begins", flush=True)
    gevent.sleep(0.5)
    print("slow ends", flush=True)
    return n


def stop():
    print("stopping", flush=True)
    gevent.spawn(socketio.stop)


gevent.signal_handler(signal.SIGTERM, stop)
try:
    socketio.run(app, host="127.0.0.1", port=int(os.environ["REAL_PORT"]), log_output=True)
finally:
    meter.save()
print("ended", flush=True)
