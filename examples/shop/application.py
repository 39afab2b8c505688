"""The Flask application: its routes, what is noted about each request, and the step of each route that may go wrong."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

from flask import Flask, Response, g, request

from hub_watch import HubWatch
from mistake import Mistake
from routes import cart, catalogue, checkout, report, search, stats
from services import Services


@dataclass(frozen=True)
class Step:
    """The function that makes the mistake where its route is drawn, and a way to call it with next to no work."""

    function: FunctionType
    rehearse: Callable[[Mistake], object]


def _step(function: Callable[..., object], rehearse: Callable[[Mistake], object]) -> Step:
    assert isinstance(function, FunctionType), "its code names file and line"
    return Step(function, rehearse)


STEPS = {
    "/product": _step(catalogue.related_products, lambda mistake: catalogue.related_products({}, [], mistake)),
    "/search": _step(search.rank_products, lambda mistake: search.rank_products([], [], mistake)),
    "/checkout": _step(checkout.price_order, lambda mistake: checkout.price_order([], mistake)),
    "/report": _step(report.build_rows, lambda mistake: report.build_rows([], mistake)),
}


def create_application(services: Services, requests: Counter[str], watch: HubWatch | None) -> Flask:
    """`requests` counts by route. Routes are named by their first part: "/product" for "/product/7"."""
    application = Flask(__name__)
    application.extensions["shop"] = services
    for module in (catalogue, search, cart, checkout, report, stats):
        application.register_blueprint(module.blueprint)
    # A template's first use compiles it, which would hold the hub.
    for name in application.jinja_env.list_templates():
        application.jinja_env.get_template(name)

    @application.before_request
    def note_begin() -> None:
        g.route = "/" + request.path.split("/")[1] if request.url_rule else "unknown"
        g.began = time.monotonic()
        if watch is not None:
            g.watched = watch.request_began(g.route)

    @application.after_request
    def note_end(response: Response) -> Response:
        requests[g.route] += 1
        services.collector.count(g.route, time.monotonic() - g.began)
        return response

    @application.teardown_request
    def note_teardown(error: BaseException | None) -> None:
        if watch is not None and "watched" in g:
            watch.request_ended(g.watched)

    return application
