"""Paid orders wait in a queue; processors take them from it, write them down, and tell who waits for the number."""

from dataclasses import dataclass, field

import gevent
from gevent.event import AsyncResult
from gevent.queue import Queue

from database import Database, Row


@dataclass
class Order:
    session: str
    lines: list[Row]
    total: int  # cents
    number: "AsyncResult[int]" = field(default_factory=AsyncResult)


class Orders:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: Queue[Order] = Queue(maxsize=100)

    def place(self, order: Order) -> int:
        """Waits until the order is written down. Returns its number."""
        self._queue.put(order, timeout=10)
        number = order.number.get(timeout=10)
        assert number is not None, "only numbers are set"
        return number

    def waiting(self) -> int:
        return self._queue.qsize()

    def process(self) -> None:
        """A processor's life: a greenlet that never ends by itself."""
        while True:
            order = self._queue.get()
            gevent.sleep(0.02)  # the warehouse answers
            try:
                order.number.set(self._database.add_sale(order.session, order.lines, order.total))
            except Exception as error:
                order.number.set_exception(error)
