"""The cmocka tests, built in four ways."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from devtools.checkout import BUILD, RESULTS
from devtools.results import Result, from_ctest, of_run
from devtools.suites import Suite
from devtools.transcript import CommandFailed, Transcript

_MMAP_RND_BITS = Path("/proc/sys/vm/mmap_rnd_bits")
_MOST_FOR_TSAN = 28  # above it gcc 12's ThreadSanitizer finds its shadow memory taken, now and then


@dataclass(frozen=True)
class _Variant:
    name: str
    compiler: str
    sanitize: str = ""


_VARIANTS = (
    _Variant("c-gcc", "gcc"),
    _Variant("c-clang", "clang"),
    _Variant("c-asan", "gcc", "address,undefined"),
    _Variant("c-tsan", "gcc", "thread"),
)


def suites() -> list[Suite]:
    return [Suite("c", variant.name, partial(_run, variant)) for variant in _VARIANTS]


def _run(variant: _Variant, transcript: Transcript) -> Result:
    folder = BUILD / variant.name
    configure_c(folder, variant.compiler, transcript, f"-DFLAMELET_SANITIZE={variant.sanitize}")
    transcript.check(["ninja", "-C", folder, "-j", str(os.cpu_count() or 1)])
    report = RESULTS / f"{variant.name}.xml"
    report.unlink(missing_ok=True)
    # Tests with threads need the two cores: one program at a time.
    command: list[str | Path] = ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error"]
    command += ["--output-junit", report]
    # The report is to hold the whole output, which ctest cuts otherwise.
    command += ["--test-output-size-passed", "10000000", "--test-output-size-failed", "10000000"]
    if variant.sanitize == "thread":
        command = [*_tsan_wrapper(transcript), *command]
    return of_run(transcript.run(command), from_ctest(report))


def configure_c(
    folder: Path, compiler: str, transcript: Transcript, *options: str, env: Mapping[str, str] | None = None
) -> None:
    """CMake for core, server and C tests; without the extension, where `options` does not say otherwise.

    Raises CommandFailed.
    """
    command: list[str | Path] = ["cmake", "-G", "Ninja", "-S", ".", "-B", folder, f"-DCMAKE_C_COMPILER={compiler}"]
    command += ["-DCMAKE_BUILD_TYPE=Debug", "-DFLAMELET_EXTENSION=OFF", "-DFLAMELET_TESTS=ON", "-DFLAMELET_WERROR=ON"]
    transcript.check([*command, *options], env=env)


def _tsan_wrapper(transcript: Transcript) -> list[str]:
    """What must stand before a command, so that ThreadSanitizer works in it."""
    if not _MMAP_RND_BITS.exists() or int(_MMAP_RND_BITS.read_text()) <= _MOST_FOR_TSAN:
        return []
    if transcript.run(["setarch", "-R", "true"]) == 0:
        return ["setarch", "-R"]
    raise CommandFailed(f"ThreadSanitizer needs `sysctl vm.mmap_rnd_bits={_MOST_FOR_TSAN}` on this machine")
