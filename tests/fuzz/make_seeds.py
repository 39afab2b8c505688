"""Writes the messages of tests/vectors as seeds: python make_seeds.py FOLDER.

The JSON library is not instrumented, so the fuzzer must be shown what JSON looks like.
"""

import json
import sys
from pathlib import Path

VECTORS = Path(__file__).parent.parent / "vectors"
LAST, IS_INITIALIZE, READS, TIME_PASSES = 1, 4, 8, 16


def main(folder: Path) -> None:
    requests = [entry["send"] for entry in json.loads((VECTORS / "bad-requests.json").read_text())]
    requests += [
        json.dumps(entry["message"], separators=(",", ":"))
        for entry in json.loads((VECTORS / "conversation.json").read_text())
        if entry["from"] == "client"
    ]
    for target in ("request", "client", "names"):
        (folder / target).mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(requests):
        data = text.encode()
        (folder / "request" / str(number)).write_bytes(data)
        # fuzz_client's pieces: flags, length, bytes.
        pieces = bytes([IS_INITIALIZE | READS, 0])
        chunks = [data[at : at + 200] for at in range(0, len(data), 200)]
        for chunk in chunks:
            flags = READS | TIME_PASSES | (LAST if chunk is chunks[-1] else 0)
            pieces += bytes([flags, len(chunk)]) + chunk
        (folder / "client" / str(number)).write_bytes(pieces)
    for number, name in enumerate((b"localhost:1", b"[::1]:80", b"http://localhost:1", b"\xe2\x82\xac\xed\xa0\x80")):
        (folder / "names" / str(number)).write_bytes(name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
