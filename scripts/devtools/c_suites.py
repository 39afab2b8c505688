"""The cmocka tests, built in four ways."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from devtools.checkout import BUILD, RESULTS
from devtools.results import Result, failed_programs, from_ctest, of_run
from devtools.suites import Suite
from devtools.transcript import CommandFailed, Transcript, environment

# What these find is held against the machine's clock.
_CLOCK = ("test_clock", "test_cpu_clock", "test_recorder", "test_server", "test_server_life", "test_stress")
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
    build_c(folder, transcript)
    return run_ctest(variant.name, folder, transcript, tsan=variant.sanitize == "thread")


def run_ctest(
    suite: str, folder: Path, transcript: Transcript, *programs: str, tsan: bool = False, **variables: str
) -> Result:
    """The cmocka tests that are built in the folder, all or these programs, with these variables set.
    tsan: they are with ThreadSanitizer."""
    report = RESULTS / f"{suite}.xml"
    report.unlink(missing_ok=True)
    # Tests with threads need the two cores: one program at a time.
    command: list[str | Path] = ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error"]
    command += ["--output-junit", report]
    # The report is to hold the whole output, which ctest cuts otherwise.
    command += ["--test-output-size-passed", "10000000", "--test-output-size-failed", "10000000"]
    if programs:
        command += ["-R", _any_of(programs)]
    if tsan:
        command = [*_tsan_wrapper(transcript), *command]
    env = environment(**variables)
    result = of_run(transcript.run(command, env=env), from_ctest(report))
    failed = failed_programs(report)
    return try_again(command, result, failed, transcript, env) if may_be_tried_again(failed) else result


def may_be_tried_again(failed: Mapping[str, str]) -> bool:
    """Whether these programs, with what they wrote, failed for nothing but what they measured: none of them crashed,
    and no sanitizer found anything."""
    return bool(failed) and all(
        name in _CLOCK and "[  FAILED  ]" in output and "Sanitizer" not in output for name, output in failed.items()
    )


def try_again(
    command: Sequence[str | Path],
    result: Result,
    failed: Iterable[str],
    transcript: Transcript,
    env: Mapping[str, str] | None = None,
) -> Result:
    """Two more tries, as tests/py has for what neighbours on the machine may disturb. A pass is counted as late."""
    for _ in range(2):
        if transcript.run([*command, "-R", _any_of(failed)], env=env) == 0:
            return Result(result.passed + result.failed, 0, result.skipped, Counter(iter(failed)))
    return result


def configure_c(
    folder: Path, compiler: str, transcript: Transcript, *options: str, env: Mapping[str, str] | None = None
) -> None:
    """CMake for core, server and C tests; without the extension, where `options` does not say otherwise.

    Raises CommandFailed.
    """
    command: list[str | Path] = ["cmake", "-G", "Ninja", "-S", ".", "-B", folder, f"-DCMAKE_C_COMPILER={compiler}"]
    command += ["-DCMAKE_BUILD_TYPE=Debug", "-DFLAMELET_EXTENSION=OFF", "-DFLAMELET_TESTS=ON", "-DFLAMELET_WERROR=ON"]
    transcript.check([*command, *options], env=env)


def _any_of(programs: Iterable[str]) -> str:
    return f"^({'|'.join(programs)})$"


def build_c(folder: Path, transcript: Transcript, *targets: str) -> None:
    """What is configured in the folder, all or these targets. Raises CommandFailed."""
    transcript.check(["ninja", "-C", folder, "-j", str(os.cpu_count() or 1), *targets])


def _tsan_wrapper(transcript: Transcript) -> list[str]:
    """What must stand before a command, so that ThreadSanitizer works in it."""
    if not _MMAP_RND_BITS.exists() or int(_MMAP_RND_BITS.read_text()) <= _MOST_FOR_TSAN:
        return []
    if transcript.run(["setarch", "-R", "true"]) == 0:
        return ["setarch", "-R"]
    raise CommandFailed(f"ThreadSanitizer needs `sysctl vm.mmap_rnd_bits={_MOST_FOR_TSAN}` on this machine")
