"""The cmocka tests in the ways that need libraries built for them: as arm64 under qemu, and with a libwebsockets into
which ThreadSanitizer sees."""

from devtools.c_suites import build_c, configure_c, run_ctest
from devtools.checkout import BUILD
from devtools.debian_sources import DebianLibrary
from devtools.results import Result
from devtools.suites import Suite
from devtools.transcript import Transcript

_ARM64 = "aarch64-linux-gnu"
# Optimized: as it ships, and qemu's own slowness is enough.
_ARM64_FLAGS = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_C_FLAGS=-O2")
_ARM64_EVENTS = 100_000  # of tests/c/test_model.c, as under the sanitizers

_ON_LIBWEBSOCKETS = ("test_server", "test_server_life", "test_recorder")  # c-tsan has the others
# What the server needs of it, as a static library.
_LIBWEBSOCKETS = (
    "-DCMAKE_C_FLAGS=-fsanitize=thread -fno-omit-frame-pointer -g -O1 -Wno-error",
    "-DLWS_WITH_SHARED=OFF",
    "-DLWS_WITH_SSL=OFF",
    "-DLWS_WITHOUT_TESTAPPS=ON",
    "-DLWS_WITH_MINIMAL_EXAMPLES=OFF",
)


def suites() -> list[Suite]:
    return [Suite("long", "long-arm64", _run_arm64), Suite("long", "long-tsan", _run_tsan)]


def _run_arm64(transcript: Transcript) -> Result:
    """The core alone. qemu gives it the processor's instructions and counters, and a kernel without rseq; the order in
    which one processor sees what another has written stays that of the machine: weaker orders it does not show."""
    compiler = f"-DCMAKE_C_COMPILER={_ARM64}-gcc"
    cmocka = DebianLibrary(BUILD / "cmocka-arm64", "cmocka", "libcmocka-dev", [compiler, *_ARM64_FLAGS])
    cmocka.ensure(transcript)
    folder = BUILD / "c-arm64"
    configure_c(
        folder,
        f"{_ARM64}-gcc",
        transcript,
        *_ARM64_FLAGS,
        f"-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/{_ARM64}",
        "-DFLAMELET_SERVER=OFF",
        env=cmocka.environment(),
    )
    build_c(folder, transcript)
    return run_ctest("long-arm64", folder, transcript, FL_TEST_EVENTS=str(_ARM64_EVENTS))


def _run_tsan(transcript: Transcript) -> Result:
    """What tests/c/libwebsockets.tsan holds is not told."""
    libwebsockets = DebianLibrary(BUILD / "libwebsockets-tsan", "libwebsockets", "libwebsockets-dev", _LIBWEBSOCKETS)
    libwebsockets.ensure(transcript)
    folder = BUILD / "c-tsan-libwebsockets"
    configure_c(folder, "gcc", transcript, "-DFLAMELET_SANITIZE=thread", env=libwebsockets.environment())
    build_c(folder, transcript, *_ON_LIBWEBSOCKETS)
    return run_ctest("long-tsan", folder, transcript, *_ON_LIBWEBSOCKETS, tsan=True)
