"""A client of chat.py: two users, one on a WebSocket, one polling. Prints what they were told as JSON: a line for each.

`talk.py slow` sends one event, and prints its answer when it is there, or that there is none.
"""

import json
import os
import queue
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import socketio

URL = f"http://127.0.0.1:{os.environ['REAL_PORT']}"
LIMIT = 60


class User:
    def __init__(self, transport):
        self.heard = []
        self.counted = []
        self.enough = threading.Event()
        self.client = socketio.Client(reconnection=False)
        self.client.on("said", self.heard.append)
        self.client.on("count", self._count)
        self.client.connect(URL, transports=[transport])

    def _count(self, number):
        self.counted.append(number)
        if len(self.counted) == 5:
            self.enough.set()

    def ask(self, event, *values):
        return self.client.call(event, values, timeout=LIMIT)


def talk():
    users = [User("websocket"), User("polling")]
    names = ["burns", "blocks", "waits", "mixes"] * 12
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda n: users[n % 2].ask(names[n], n), range(len(names)))
        yield from zip(names, answers, strict=True)
    yield [user.ask("joins", "room") for user in users]
    users[0].ask("says", "room", "hello")
    yield users[1].ask("leaves", "room")
    users[0].ask("says", "room", "alone")
    users[0].ask("counts", 5)
    yield [user.enough.wait(LIMIT) for user in users]
    users[0].client.emit("fails", 7)  # nobody answers
    yield users[0].ask("burns", 3)
    yield [[user.heard, sorted(user.counted)] for user in users]
    for user in users:
        user.client.disconnect()


def slow():
    outcomes = queue.Queue()
    user = User("websocket")
    user.client.on("disconnect", lambda reason: outcomes.put("disconnected"))
    user.client.emit("slow", 5, callback=outcomes.put)
    return outcomes.get(timeout=LIMIT)


if sys.argv[1:] == ["slow"]:
    print(json.dumps(slow()), flush=True)
    os._exit(0)  # it does not wait for a server that has gone
for line in talk():
    print(json.dumps(line))
