"""What takes too long for every run: fuzzing, the Python tests on an extension with sanitizers, the benchmarks' own."""

import subprocess
from functools import partial

from devtools.checkout import BUILD, ROOT
from devtools.python_suites import BENCHMARKS, run_pytest
from devtools.results import Result
from devtools.suites import REQUIREMENTS, Machine, Suite
from devtools.transcript import Transcript
from devtools.venvs import Venv

_FUZZ_SECONDS = 30  # for each target
# Those that run programs under the extension; the others would find nothing more with it.
_ON_EXTENSION = ("test_truth.py", "test_waits.py", "test_api.py", "test_run_command.py", "test_live.py")


def suites(machine: Machine) -> list[Suite]:
    return [
        Suite("long", "long-fuzz", partial(_fuzz, machine)),
        Suite("long", "long-asan", partial(_run_sanitized, machine)),
        Suite("long", "long-bench", partial(_run_benchmarks, machine)),
    ]


def _run_benchmarks(machine: Machine, transcript: Transcript) -> Result:
    return run_pytest(machine.flamelet(machine.newest, transcript), "long-bench", BENCHMARKS, transcript)


def _fuzz(machine: Machine, transcript: Transcript) -> Result:
    folder = BUILD / "fuzz"
    transcript.check(["cmake", "-G", "Ninja", "-S", "tests/fuzz", "-B", folder, "-DCMAKE_C_COMPILER=clang"])
    transcript.check(["ninja", "-C", folder])
    transcript.check([machine.newest.path, "tests/fuzz/make_seeds.py", folder / "corpus"])
    result = Result()
    for target in sorted(source.stem for source in (ROOT / "tests" / "fuzz").glob("fuzz_*.c")):
        corpus = folder / "corpus" / target.removeprefix("fuzz_")
        corpus.mkdir(parents=True, exist_ok=True)
        options = ["-dict=tests/fuzz/json.dict", f"-max_total_time={_FUZZ_SECONDS}", f"-artifact_prefix={folder}/"]
        failed = transcript.run([folder / target, *options, corpus]) != 0
        result += Result(passed=int(not failed), failed=int(failed))
    return result


def _run_sanitized(machine: Machine, transcript: Transcript) -> Result:
    venv = Venv(".venvs/asan", machine.newest, REQUIREMENTS)
    venv.ensure(transcript)
    settings = ("cmake.build-type=Debug", "cmake.define.FLAMELET_SANITIZE=address,undefined")
    machine.install(venv, transcript, *settings)
    # Python is not built with them: their runtime must be there first, and C++'s, whose exceptions greenlet throws.
    preload = " ".join(map(_library_of_gcc, ("libasan.so", "libstdc++.so.6")))
    return run_pytest(
        venv,
        "long-asan",
        [f"tests/py/{name}" for name in _ON_EXTENSION],
        transcript,
        LD_PRELOAD=preload,
        ASAN_OPTIONS="detect_leaks=0",  # the interpreter's own
        UBSAN_OPTIONS="halt_on_error=1",
    )


def _library_of_gcc(name: str) -> str:
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()
