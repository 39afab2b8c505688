"""The report: what was sold, by category."""

from flask import Blueprint, render_template

from database import Row
from mistake import Mistake
from services import services

blueprint = Blueprint("report", __name__)


@blueprint.get("/report")
def report() -> str:
    shop = services()
    lines = shop.database.sale_lines()
    with shop.mistake.chance("/report") as mistake:
        rows = build_rows(lines, mistake)
    return render_template("report.html", rows=rows)


def build_rows(lines: list[Row], mistake: Mistake | None) -> list[Row]:
    """One row for each category: sold pieces and cents, the best first."""
    by_category: dict[str, Row] = {}
    for line in lines:
        row = by_category.setdefault(line["category"], {"category": line["category"], "pieces": 0, "cents": 0})
        row["pieces"] += line["quantity"]
        row["cents"] += line["quantity"] * line["price"]
    if mistake is not None:
        match mistake.kind:
            case "c_call":  # trims the remarks
                mistake.trailing_space.sub("", mistake.text)
            case "unpatched_sleep":  # until the numbers of the branches are in
                mistake.sleep(mistake.seconds)
            case "cpu_loop":  # interest, day by day since the beginning
                interest = 0
                for day in range(mistake.size):
                    interest += (day * 3) // 365
            case "foreign_lock":  # adds how often each category was looked at
                with mistake.lock:
                    pass
            case "big_sort":  # all sales ever, for the best three
                sorted(mistake.numbers)[-3:]
    return sorted(by_category.values(), key=lambda row: row["cents"], reverse=True)
