"""The shop's data: SQLite behind a small pool of connections.

The database is in memory: a write to a busy disk would stop the hub. So would waiting for another connection's lock,
which SQLite does by sleeping in C: no connection waits (`timeout=0`), and no greenlet switches between BEGIN and
COMMIT, so that a writer is never met by another.
"""

import random
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from gevent.queue import Queue

CATEGORIES = ("books", "garden", "kitchen", "music", "tools", "toys")
PRODUCTS = 400
KEPT_ORDERS = 1_000

_ADJECTIVES = ("blue", "small", "folding", "quiet", "heavy", "bright", "woven", "plain", "round", "sturdy")
_NOUNS = ("lamp", "chair", "spade", "kettle", "drum", "puzzle", "atlas", "hammer", "basket", "clock", "mug", "kite")

_SCHEMA = """
CREATE TABLE product (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, tags TEXT NOT NULL, price INTEGER NOT NULL);
CREATE TABLE sale (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, total INTEGER NOT NULL);
CREATE TABLE sale_line (
    sale INTEGER NOT NULL, product INTEGER NOT NULL, quantity INTEGER NOT NULL, price INTEGER NOT NULL);
CREATE INDEX sale_line_sale ON sale_line (sale);
"""

Row = dict[str, Any]


class Database:
    """All prices are in cents. Used by greenlets of one thread only."""

    def __init__(self, connections: int = 4) -> None:
        self._all = [_connect() for _ in range(connections)]
        self._free: Queue[sqlite3.Connection] = Queue()
        for connection in self._all:
            self._free.put(connection)
        self._all[0].executescript(_SCHEMA)
        self._fill()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = self._free.get()  # waits, cooperatively, while all are out
        try:
            yield connection
        finally:
            self._free.put(connection)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _rows(self, query: str, *values: object) -> list[Row]:
        with self._connection() as connection:
            return [dict(row) for row in connection.execute(query, values)]

    def products(self) -> list[Row]:
        return self._rows("SELECT * FROM product ORDER BY id")

    def products_by_id(self, ids: Iterable[int]) -> dict[int, Row]:
        wanted = list(ids)
        marks = ",".join("?" * len(wanted))
        return {row["id"]: row for row in self._rows(f"SELECT * FROM product WHERE id IN ({marks})", *wanted)}

    def sale_lines(self) -> list[Row]:
        return self._rows(
            "SELECT category, quantity, sale_line.price AS price FROM sale_line JOIN product ON product.id = product"
        )

    def add_sale(self, customer: str, lines: list[Row], total: int) -> int:
        """Returns the new sale's id."""
        with self._transaction() as connection:
            cursor = connection.execute("INSERT INTO sale (customer, total) VALUES (?, ?)", (customer, total))
            sale = cursor.lastrowid
            assert sale is not None, "an INSERT that succeeded has a row id"
            connection.executemany(
                "INSERT INTO sale_line VALUES (?, ?, ?, ?)",
                [(sale, line["id"], line["quantity"], line["price"]) for line in lines],
            )
            return sale

    def change_prices(self, changes: dict[int, int]) -> None:
        """Product id -> new price."""
        with self._transaction() as connection:
            connection.executemany(
                "UPDATE product SET price = ? WHERE id = ?", [(price, product) for product, price in changes.items()]
            )

    def forget_old_sales(self) -> int:
        """Keeps the last `KEPT_ORDERS`, so that a shop that runs for days stays small. Returns how many went."""
        with self._transaction() as connection:
            cursor = connection.execute("DELETE FROM sale WHERE id <= (SELECT max(id) FROM sale) - ?", (KEPT_ORDERS,))
            connection.execute("DELETE FROM sale_line WHERE sale < (SELECT min(id) FROM sale)")
            return cursor.rowcount

    def free_connections(self) -> int:
        return self._free.qsize()

    def close(self) -> None:
        for connection in self._all:
            connection.close()

    def _fill(self) -> None:
        dice = random.Random(1)
        with self._transaction() as connection:
            for product in range(1, PRODUCTS + 1):
                tags = dice.sample(_ADJECTIVES, 3)
                name = f"{tags[0]} {dice.choice(_NOUNS)}"
                values = (product, name, dice.choice(CATEGORIES), " ".join(tags), dice.randrange(300, 20_000))
                connection.execute("INSERT INTO product VALUES (?, ?, ?, ?, ?)", values)
        products = self.products()
        for _ in range(KEPT_ORDERS // 4):
            lines = [{**product, "quantity": dice.randint(1, 3)} for product in dice.sample(products, 2)]
            self.add_sale("a customer of old", lines, sum(line["price"] * line["quantity"] for line in lines))


def _connect() -> sqlite3.Connection:
    # "memdb" with a name that begins with "/": one database for all connections of this process.
    connection = sqlite3.connect("file:/shop?vfs=memdb", uri=True, timeout=0, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection
