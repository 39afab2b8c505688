"""A small checkout to run on. What is tested is imported from this folder."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

_FILES = {
    "CMakeLists.txt": """
        cmake_minimum_required(VERSION 3.25)
        project(tiny LANGUAGES C)
        option(FLAMELET_EXTENSION "" ON)
        option(FLAMELET_TESTS "" OFF)
        include_directories(core)
        add_library(two STATIC core/two.c)
        set_target_properties(two PROPERTIES POSITION_INDEPENDENT_CODE ON)
        if(FLAMELET_EXTENSION)
            add_library(_ext MODULE pyshim/ext/ext.c)
            set_target_properties(_ext PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/pyshim/ext)
            target_link_libraries(_ext PRIVATE two)
        endif()
        if(FLAMELET_TESTS)
            add_executable(test_two tests/c/test_two.c)
            target_link_libraries(test_two PRIVATE two)
            set_target_properties(test_two PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/c)
        endif()
        """,
    "core/two.h": """
        int tested(int value);
        int untested(int value);
        int loops(int value);
        """,
    "core/two.c": """
        #include "two.h"

        int tested(int value)
        {
            if (value > 2)
                return 7;
            return 9;
        }

        int untested(int value)
        {
            return value + 3;
        }

        int loops(int value)
        {
            int sum = 0;
            while (value > 0) {
                sum += 2;
                value--;
            }
            return sum;
        }
        """,
    "pyshim/ext/ext.c": """
        #include "two.h"

        __attribute__((visibility("default"))) int of_python(int value);

        int of_python(int value)
        {
            return tested(value) * 5;
        }
        """,
    "pyshim/flamelet/__init__.py": "",
    "tests/c/test_two.c": """
        #include "two.h"

        int main(void)
        {
            return tested(2) == 9 && tested(3) == 7 && loops(3) == 6 && loops(0) == 0 ? 0 : 1;
        }
        """,
    "tests/py/conftest.py": "",
    "tests/py/test_python.py": """
        import ctypes
        import subprocess
        import sys
        from pathlib import Path

        import flamelet


        def test_in_a_program():
            library = Path(flamelet.__file__).with_name("_ext.so")
            code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).of_python(1))"
            assert subprocess.check_output([sys.executable, "-c", code]) == b"45\\n"


        def test_of_nothing():
            pass
        """,
    "tests/vectors/none.json": "{}",
    "cmake/none.cmake": "",
    "web/app/dist/index.html": "",
    "server/none.h": "",
    "tests/mutants/equivalent.toml": "",
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A checkout with a function that is tested, one that no test calls, one with a loop, and one for Python."""
    root = tmp_path / "tiny"
    for name, text in _FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip())
    return root
