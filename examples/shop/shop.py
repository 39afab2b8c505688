"""A small web shop on gevent, with one mistake in it. Start it with `python shop.py`; see ../README.md."""

from gevent import monkey

monkey.patch_all()

import sys  # noqa: E402  (nothing may be imported before it is patched)

from command_line import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
