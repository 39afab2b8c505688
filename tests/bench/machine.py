"""Where and with what a run was made. Names no path and no host."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import sysconfig
import time
from datetime import UTC, datetime
from pathlib import Path

from results import Machine

PACKAGES = ("flamelet", "greenlet", "yappi")


def describe() -> Machine:
    return {
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver()) or 'unknown libc'}",
        "load": os.getloadavg()[0],
        "cpu_clock_extra_ns": _reading_ns(time.CLOCK_THREAD_CPUTIME_ID) - _reading_ns(time.CLOCK_MONOTONIC),
    }


def python_build() -> str:
    arguments = shlex.split(sysconfig.get_config_var("CONFIG_ARGS") or "")
    pgo = "PGO" if "--enable-optimizations" in arguments else "no PGO"
    lto = any(argument.split("=")[0] == "--with-lto" for argument in arguments)
    return f"{pgo}, {'LTO' if lto else 'no LTO'}"


def package_versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _reading_ns(clock: int) -> float:
    """One reading called from Python: the best of some, as only a difference of two such figures is used."""
    readings = 2000
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter_ns()
        for _ in range(readings):
            time.clock_gettime_ns(clock)
        best = min(best, (time.perf_counter_ns() - start) / readings)
    return best


def _processor() -> str:
    """The model's name, and that it is a virtual one where Linux says so."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = fields.get("model name", platform.machine())
    virtual = "hypervisor" in fields.get("flags", "").split()
    return f"{name} (virtual machine)" if virtual else name
