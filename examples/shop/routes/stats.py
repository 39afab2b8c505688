"""How the shop does: asks the collector's thread, and looks at queues and pools."""

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

from services import services

blueprint = Blueprint("stats", __name__)


@blueprint.get("/stats")
def stats() -> ResponseReturnValue:
    shop = services()
    return jsonify(
        routes=shop.collector.totals(),
        carts=len(shop.carts),
        orders_waiting=shop.orders.waiting(),
        free_connections=shop.database.free_connections(),
    )
