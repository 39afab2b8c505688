"""A client of the live view: the websocket of protocol.md, as an editor or a script would use it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import websocket

from flamelet.messages import Update, decode
from flamelet.picture import Picture
from running import LIMIT


class LiveClient:
    """A connection. picture: what it has been told so far. arrivals: when each update came, monotonic seconds."""

    def __init__(self, port: int, **options: Any) -> None:
        # A socket of ours, since the library leaves its own open when it is refused.
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        try:
            self._socket = websocket.create_connection(
                f"ws://127.0.0.1:{port}/ws", socket=self._connection, subprotocols=["flamelet"], **options
            )
        except BaseException:
            self._connection.close()
            raise
        self._seq = 0
        self.picture = Picture()
        self.arrivals: list[float] = []

    def __enter__(self) -> LiveClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.hang_up()

    def hang_up(self) -> None:
        """Be gone, without a word."""
        self._connection.close()

    def send(self, command: str, **arguments: Any) -> int:
        self._seq += 1
        self.send_text(json.dumps({"seq": self._seq, "type": "request", "command": command, "arguments": arguments}))
        return self._seq

    def send_text(self, text: str) -> None:
        self._socket.send(text)

    def receive(self) -> dict[str, Any]:
        """The next message; an update is in the picture already."""
        opcode, data = self._socket.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            return {"closed": int.from_bytes(data[:2], "big")}
        message: dict[str, Any] = json.loads(data)
        decoded = decode(message)
        if isinstance(decoded, Update):
            self.arrivals.append(time.monotonic())
            self.picture.apply(decoded)
        return message

    def answer_to(self, seq: int) -> dict[str, Any]:
        while (message := self.receive()).get("request_seq") != seq:
            assert "closed" not in message, message
        return message

    def initialize(self, token: str, low: int = 1, high: int = 1) -> int:
        return self.send("initialize", adapterID="flamelet", token=token, protocol={"min": low, "max": high})

    def subscribe(self, token: str, **arguments: Any) -> None:
        """Do what a client does at its beginning."""
        assert self.answer_to(self.initialize(token))["success"]
        assert self.answer_to(self.send("flamelet/subscribe", **arguments))["success"]

    def updates(self, seconds: float) -> Iterator[Picture]:
        """The picture after each update, for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.receive().get("event") == "flamelet/update":
                yield self.picture

    def path(self, node: int) -> list[str]:
        """Names of the functions from the entry function to a node."""
        names: list[str] = []
        while node:
            row = self.picture.nodes[node]
            if row.function:
                names.append(self.picture.function(row.function).name)
            node = row.parent
        return names[::-1]
