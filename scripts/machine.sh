# Sourced by scripts/demo and scripts/test: makes sure of the system packages, then hands over to devtools/.
# Only what must happen before there is a Python is written here.
# shellcheck shell=bash

# What each part needs: how to see that it is there, and the Debian package that brings it.
requirements() {
    local part
    for part in "$@"; do
        case $part in
        build)
            echo command:gcc gcc
            echo header:stdio.h libc6-dev
            echo command:cmake cmake
            echo command:ninja ninja-build
            echo command:pkg-config pkg-config
            echo library:libwebsockets libwebsockets-dev
            echo library:jansson libjansson-dev
            echo library:zlib zlib1g-dev
            ;;
        c)
            echo library:cmocka libcmocka-dev
            echo command:clang clang
            ;;
        web | e2e)
            echo command:chromium chromium
            echo font:DejaVuSans.ttf fonts-dejavu-core
            ;;
        next)
            echo command:mmdebstrap mmdebstrap
            echo command:unshare util-linux
            echo keyring debian-archive-keyring
            ;;
        mutants)
            echo library:cmocka libcmocka-dev
            ;;
        real)
            echo command:redis-server redis-server
            ;;
        long)
            echo library:cmocka libcmocka-dev
            echo command:clang clang
            echo fuzzer libclang-rt-dev
            echo command:aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
            echo header64:stdio.h libc6-dev-arm64-cross
            echo command:qemu-aarch64 qemu-user
            echo command:dpkg-source dpkg-dev
            echo keyring debian-archive-keyring
            ;;
        lint)
            echo library:cmocka libcmocka-dev
            echo command:clang clang
            echo command:clang-format clang-format
            echo command:clang-tidy clang-tidy
            echo command:cppcheck cppcheck
            echo command:git git
            echo command:shellcheck shellcheck
            ;;
        esac
    done
}

is_there() {
    local name=${1#*:}
    case $1 in
    command:*) command -v "$name" ;;
    header:*) gcc -E - <<<"#include <$name>" ;;
    header64:*) aarch64-linux-gnu-gcc -E - <<<"#include <$name>" ;;
    library:*) command -v pkg-config && pkg-config --exists "$name" ;;
    fuzzer) clang -x c -fsanitize=fuzzer -o /dev/null - <<<'int LLVMFuzzerTestOneInput(void) { return 0; }' ;;
    keyring) ls /usr/share/keyrings/debian-archive-keyring.* ;;
    font:*) find /usr/share/fonts -name "$name" | grep . ;;
    esac >/dev/null 2>&1
}

# The Debian packages that the parts miss, one a line. Two parts may need the same.
missing_packages() {
    local probe package
    if ! find_python >/dev/null; then
        printf '%s\n' python3 python3-venv python3-dev
    fi
    while read -r probe package; do
        is_there "$probe" || echo "$package"
    done < <(requirements "$@")
}

# Prints the first Python that can build flamelet: new enough, with venv and with its headers. It runs devtools/;
# for which Pythons flamelet is then built, devtools/pythons.py says.
find_python() {
    local candidate
    for candidate in python3 python3.{13,12,11} /usr/bin/python3 ~/.pyenv/versions/*/bin/python3; do
        if "$candidate" -c '
import ensurepip, os, sys, sysconfig, venv
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.implementation.name != "cpython" or sys.version_info < (3, 11) or not os.path.exists(headers))
' >/dev/null 2>&1; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

# install_packages PART...: installs what is missing where we may; otherwise names it and stops.
install_packages() {
    local missing as_root=() log
    mapfile -t missing < <(missing_packages "$@" | awk '!seen[$0]++')
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        stop "this machine misses (by Debian's names): ${missing[*]}"
    fi
    if [ "$(id -u)" != 0 ]; then
        as_root=(sudo -n)
        if ! sudo -n true 2>/dev/null; then
            stop "system packages are missing. Install them, then start again:" \
                "    sudo apt-get install --no-install-recommends ${missing[*]}"
        fi
    fi
    echo "installing system packages: ${missing[*]}" >&2
    apt() {
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 "$@" </dev/null
    }
    log=$(mktemp)
    # The lists of packages may be absent or out of date; this shows only when the installation fails.
    if ! { apt install --no-install-recommends "${missing[@]}" ||
        { apt update && apt install --no-install-recommends "${missing[@]}"; }; } >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        stop "apt-get could not install: ${missing[*]}"
    fi
    rm -f "$log"
}

# run_devtools MODULE ARGUMENTS...
run_devtools() {
    local python
    python=$(find_python) || stop "no usable Python: CPython 3.11 or newer, with its headers and venv, is needed"
    PYTHONPATH=scripts exec "$python" -m "devtools.$1" "${@:2}"
}

wants_help() {
    case " $* " in
    *" -h "* | *" --help "*) true ;;
    *) false ;;
    esac
}

stop() {
    printf '%s\n' "$@" >&2
    exit 1
}
