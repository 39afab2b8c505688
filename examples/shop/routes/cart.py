"""The cart of a session: what is in it, and one more thing in it."""

from flask import Blueprint, abort, jsonify, request
from flask.typing import ResponseReturnValue

from services import services

blueprint = Blueprint("cart", __name__)


@blueprint.get("/cart")
def show_cart() -> ResponseReturnValue:
    shop = services()
    items = shop.carts.items(session_name())
    products = shop.database.products_by_id(items)
    return jsonify(lines=[{**products[product], "quantity": quantity} for product, quantity in items.items()])


@blueprint.post("/cart")
def add_to_cart() -> ResponseReturnValue:
    shop = services()
    product = request.form.get("product", 0, type=int)
    if not shop.database.products_by_id([product]):
        abort(404)
    if not shop.carts.add(session_name(), product, quantity=1):
        abort(409, "the cart is full")
    return jsonify(lines=len(shop.carts.items(session_name())))


def session_name() -> str:
    return request.cookies.get("session", "guest")[:40]
