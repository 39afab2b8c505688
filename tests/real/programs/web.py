"""A Flask application, for gunicorn's gevent workers. Its routes measure themselves."""

import gevent
from flask import Flask
from gevent.monkey import get_original

import meter

app = Flask(__name__)
nap = get_original("time", "sleep")  # holds the hub


@app.get("/burns/<int:n>")
def burns(n):
    return meter.burns(f"burns {n * n}\n")


@app.get("/blocks/<int:n>")
def blocks(n):
    return meter.blocks(f"blocks {n * n}\n", nap)


@app.get("/waits/<int:n>")
def waits(n):
    return meter.waits(f"waits {n * n}\n", gevent.sleep)


@app.get("/mixes/<int:n>")
def mixes(n):
    return meter.mixes(f"mixes {n * n}\n", nap, gevent.sleep)


@app.get("/streams/<int:n>")
def streams(n):
    """An answer in pieces, from a generator that waits between them."""

    def pieces():
        for turn in range(n):
            gevent.sleep(0.002)
            yield f"piece {turn}\n"

    return app.response_class(pieces(), mimetype="text/plain")


@app.get("/fails/<int:n>")
def fails(n):
    raise LookupError(f"no {n}")


@app.get("/slow/<int:n>")
def slow(n):
    """In the middle of this one the server is told to end."""
    app.logger.error("slow begins")
    gevent.sleep(1)
    return f"slow {n}\n"
