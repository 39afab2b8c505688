"""Checkout: asks the cart route over HTTP, adds up, waits for the payment and for the order's number."""

import gevent
from flask import Blueprint, abort, jsonify
from flask.typing import ResponseReturnValue

from database import Row
from loopback import get_json
from mistake import Mistake
from orders import Order
from routes.cart import session_name
from services import services

blueprint = Blueprint("checkout", __name__)

PAYMENT_TAKES = 0.15  # seconds
FREE_DELIVERY_FROM, DELIVERY = 5_000, 490  # cents


@blueprint.post("/checkout")
def checkout() -> ResponseReturnValue:
    shop = services()
    session = session_name()
    lines = get_json(shop.port, "/cart", session)["lines"]
    if not lines:
        abort(409, "the cart is empty")
    with shop.mistake.chance("/checkout") as mistake:
        total = price_order(lines, mistake)
    with shop.payments:
        gevent.sleep(PAYMENT_TAKES)
    number = shop.orders.place(Order(session, lines, total))
    shop.carts.drop(session)
    return jsonify(order=number, total=total)


def price_order(lines: list[Row], mistake: Mistake | None) -> int:
    """What the customer pays, in cents, delivery included."""
    if mistake is not None:
        match mistake.kind:
            case "c_call":  # trims the note for the driver
                mistake.trailing_space.sub("", mistake.text)
            case "unpatched_sleep":  # tries the tax office again in a moment
                mistake.sleep(mistake.seconds)
            case "cpu_loop":  # tries every voucher on every line
                saved = 0
                for voucher in range(mistake.size):
                    saved = (saved + voucher % 7) % 1_000
            case "foreign_lock":  # the thousandth customer pays nothing
                with mistake.lock:
                    pass
            case "big_sort":  # the median of all carts, to tell a small one
                sorted(mistake.numbers)[mistake.size // 2]
    goods: int = sum(line["price"] * line["quantity"] for line in lines)
    return goods if goods >= FREE_DELIVERY_FROM else goods + DELIVERY
