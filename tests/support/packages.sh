# shellcheck shell=bash
# Installs what the build and the tests use, where that is possible; says what is missing where
# it is not. Only CMake, make and a C compiler are required: without the others their parts are
# left out.

# Each line: how to see that it is there | its Debian package | what it is for.
tools() {
    cat <<'END'
command -v cmake | cmake | required
command -v make | make | required
command -v cc | gcc | required
command -v c++ | g++ | the headers as C++17
command -v clang-format | clang-format | the format of the sources
command -v pkg-config | pkg-config | a consumer by pkg-config
ls /usr/include/criterion/criterion.h | libcriterion-dev | tests in processes of their own
ls /usr/include/sqlite3.h | libsqlite3-dev | the demo's database
command -v sqlite3 | sqlite3 | comparing the demo's databases
pkg-config --exists glib-2.0 | libglib2.0-dev | sequences on GLib's threads and loops
pkg-config --exists libuv | libuv1-dev | sequences on libuv's
command -v python3 | python3 | the demo's tests
command -v tmux | tmux | laneview on a terminal
command -v dot | graphviz | drawings
command -v ledger | ledger | the demo against another program
command -v hledger | hledger | the demo against a second one
command -v clang | clang | fuzz targets
ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a | libclang-rt-dev | fuzz targets
command -v gcovr | gcovr | which lines the tests reach
command -v spin | spin | the models of the protocols
ls /usr/include/valgrind/callgrind.h | valgrind | the instructions that a task costs
ls /usr/include/*/sys/sdt.h | systemtap-sdt-dev | static probes of the events
END
}

# Prints the lines of tools whose check fails.
missing_tools() {
    local check package purpose
    while IFS='|' read -r check package purpose; do
        if ! eval "$check" >/dev/null 2>&1; then
            echo "${package// /}:${purpose# }"
        fi
    done < <(tools)
}

install_missing() {
    local missing packages as_root=()
    missing=$(missing_tools)
    if [ -z "$missing" ]; then
        return
    fi
    mapfile -t packages < <(cut -d: -f1 <<<"$missing")
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo -n)
    fi
    if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
        echo "installing ${packages[*]}"
        if ! "${as_root[@]}" apt-get install -y -q "${packages[@]}" >/dev/null 2>&1; then
            "${as_root[@]}" apt-get update -q >/dev/null
            "${as_root[@]}" apt-get install -y -q "${packages[@]}" >/dev/null || true
        fi
        missing=$(missing_tools)
    fi
    if [ -n "$missing" ]; then
        echo "missing (package: what it is for):"
        echo "$missing"
    fi
    if grep -q ':required$' <<<"$missing"; then
        echo "install what is required and try again"
        return 1
    fi
}
