"""Search: a ranking of all products for some words."""

from flask import Blueprint, render_template, request

from database import Row
from mistake import Mistake
from services import services

blueprint = Blueprint("search", __name__)

SHOWN = 10


@blueprint.get("/search")
def search() -> str:
    shop = services()
    words = request.args.get("q", "")[:100].lower().split()
    everything = shop.database.products()
    with shop.mistake.chance("/search") as mistake:
        ranking = rank_products(everything, words, mistake)
    return render_template("products.html", products=ranking[:SHOWN], page=0)


def rank_products(everything: list[Row], words: list[str], mistake: Mistake | None) -> list[Row]:
    """Those that have one of the words, the best first: a word in the name counts more than one among the tags."""
    ranked = []
    for row in everything:
        score = sum(3 * (word in row["name"]) + (word in row["tags"]) + (word == row["category"]) for word in words)
        if score:
            ranked.append((score, row["id"], row))
    if mistake is not None:
        match mistake.kind:
            case "c_call":  # trims the query, which somebody pasted in
                mistake.trailing_space.sub("", mistake.text)
            case "unpatched_sleep":  # not more than so many searches a second, please
                mistake.sleep(mistake.seconds)
            case "cpu_loop":  # the distance of the words to every word of the catalogue
                distance = 0
                for letter in range(mistake.size):
                    distance = (distance ^ letter) % 1_009 + 1
            case "foreign_lock":  # what is looked for most often comes first
                with mistake.lock:
                    pass
            case "big_sort":  # all scores of the index, to normalise by the best
                sorted(mistake.numbers)[-1]
    return [row for _, _, row in sorted(ranked, key=lambda entry: entry[:2], reverse=True)]
