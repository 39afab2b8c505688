"""What the routes work with."""

from dataclasses import dataclass, field

from flask import current_app
from gevent.lock import BoundedSemaphore

from carts import Carts
from collector import Collector
from database import Database
from mistake import Mistake
from orders import Orders

PAYMENTS_AT_ONCE = 4


@dataclass
class Services:
    database: Database
    carts: Carts
    orders: Orders
    collector: Collector
    mistake: Mistake
    payments: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(PAYMENTS_AT_ONCE))
    port: int = 0  # where the shop itself listens, once it does


def services() -> Services:
    """Those of the application that handles the current request."""
    found: Services = current_app.extensions["shop"]
    return found
