"""The empty receivers (floor.c) and how they are built (build.py)."""
