"""The shop as its own client: GET of one of its routes over HTTP on 127.0.0.1."""

import http.client
import json
import socket
from typing import Any

LIMIT = 10.0  # seconds


class _Connection(http.client.HTTPConnection):
    """Connects to an address without asking the resolver, which gevent runs in a pool of native threads."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.connect((self.host, self.port))


def get_json(port: int, path: str, session: str) -> Any:
    """The answer's JSON. Raises OSError or HTTPException when there is none."""
    connection = _Connection("127.0.0.1", port, timeout=LIMIT)
    try:
        connection.request("GET", path, headers={"Cookie": f"session={session}"})
        answer = connection.getresponse()
        if answer.status != http.HTTPStatus.OK:
            raise http.client.HTTPException(f"{path} answered {answer.status}")
        return json.loads(answer.read())
    finally:
        connection.close()
