"""Background greenlets: prices change, order processors work, old carts and sales go."""

import random

import gevent

from carts import Carts
from database import Database
from orders import Orders

PROCESSORS = 2


def start_jobs(database: Database, carts: Carts, orders: Orders) -> "list[gevent.Greenlet[..., None]]":
    return [
        gevent.spawn(refresh_prices, database),
        gevent.spawn(clean_up, database, carts),
        *(gevent.spawn(orders.process) for _ in range(PROCESSORS)),
    ]


def refresh_prices(database: Database) -> None:
    dice = random.Random(2)
    while True:
        gevent.sleep(1)
        products = dice.sample(database.products(), 10)
        database.change_prices({row["id"]: max(100, row["price"] + dice.randint(-50, 50)) for row in products})


def clean_up(database: Database, carts: Carts) -> None:
    while True:
        gevent.sleep(3)
        carts.drop_idle()
        database.forget_old_sales()
