"""Shopping carts, in memory, one for each session."""

import time
from collections import Counter

MAX_IDLE = 30.0  # seconds after which a cart that nobody touches is dropped
MAX_LINES = 20


class Carts:
    def __init__(self) -> None:
        self._items: dict[str, Counter[int]] = {}
        self._touched: dict[str, float] = {}

    def add(self, session: str, product: int, quantity: int) -> bool:
        """False: the cart is full."""
        items = self._items.setdefault(session, Counter())
        self._touched[session] = time.monotonic()
        if product not in items and len(items) >= MAX_LINES:
            return False
        items[product] += quantity
        return True

    def items(self, session: str) -> dict[int, int]:
        """Product id -> quantity."""
        return dict(self._items.get(session, {}))

    def drop(self, session: str) -> None:
        self._items.pop(session, None)
        self._touched.pop(session, None)

    def drop_idle(self) -> int:
        """Returns how many were dropped."""
        limit = time.monotonic() - MAX_IDLE
        idle = [session for session, touched in self._touched.items() if touched < limit]
        for session in idle:
            self.drop(session)
        return len(idle)

    def __len__(self) -> int:
        return len(self._items)
