"""Lists of products, and a product's page."""

from flask import Blueprint, abort, render_template, request

from database import Row
from mistake import Mistake
from services import services

blueprint = Blueprint("catalogue", __name__)

PER_PAGE = 20


@blueprint.get("/")
@blueprint.get("/products")
def products() -> str:
    page = max(0, request.args.get("page", 0, type=int))
    found = services().database.products()
    return render_template("products.html", products=found[page * PER_PAGE : (page + 1) * PER_PAGE], page=page)


@blueprint.get("/product/<int:number>")
def product(number: int) -> str:
    shop = services()
    everything = shop.database.products()
    shown = next((row for row in everything if row["id"] == number), None)
    if shown is None:
        abort(404)
    with shop.mistake.chance("/product") as mistake:
        related = related_products(shown, everything, mistake)
    return render_template("product.html", product=shown, related=related)


def related_products(shown: Row, everything: list[Row], mistake: Mistake | None) -> list[Row]:
    """The five products that share the most tags with `shown`."""
    if mistake is not None:
        match mistake.kind:
            case "c_call":  # tidies the description that a supplier pasted in
                mistake.trailing_space.sub("", mistake.text)
            case "unpatched_sleep":  # gives the image server a moment
                mistake.sleep(mistake.seconds)
            case "cpu_loop":  # compares the visitors of each product with those of every other
                likeness = 0
                for visitor in range(mistake.size):
                    likeness = (likeness * 31 + visitor) % 1_000_003
            case "foreign_lock":  # asks how often this page was seen
                with mistake.lock:
                    pass
            case "big_sort":  # all visits ever, for the last five
                sorted(mistake.numbers)[-5:]
    tags = set(shown.get("tags", "").split())
    others = [row for row in everything if row["id"] != shown["id"]]
    return sorted(others, key=lambda row: len(tags.intersection(row["tags"].split())), reverse=True)[:5]
