# shellcheck shell=bash
# Installs the tools that the build and the tests use, or lists those that it cannot install. Only
# CMake, make and a C compiler are required. Parts whose tools are missing are left out.

# Each line: a check that the tool is installed | its Debian package | its purpose.
tools() {
    cat <<'END'
command -v cmake | cmake | required
command -v make | make | required
command -v cc | gcc | required
command -v c++ | g++ | the headers as C++17
command -v clang-format | clang-format | the format of the sources
command -v pkg-config | pkg-config | a consumer that uses pkg-config
ls /usr/include/criterion/criterion.h | libcriterion-dev | tests in separate processes
ls /usr/include/sqlite3.h | libsqlite3-dev | the demo's database
ls /usr/include/yaml.h | libyaml-dev | the demo's rules files
command -v sqlite3 | sqlite3 | comparing the demo's databases
pkg-config --exists glib-2.0 | libglib2.0-dev | sequences on GLib's threads and loops
pkg-config --exists libuv | libuv1-dev | sequences on libuv's threads and loops
pkg-config --exists 'libpq >= 14' | libpq-dev | batches in PostgreSQL
ls /usr/lib/postgresql/*/bin/initdb | postgresql | a server for the tests of these
command -v python3 | python3 | the demo's tests
/usr/bin/python3 -c 'import prometheus_client' | python3-prometheus-client | the format of metrics
command -v tmux | tmux | laneview on a terminal
command -v dot | graphviz | drawings
/usr/bin/python3 -c 'import sphinx' | python3-sphinx | the site
/usr/bin/python3 -c 'import furo' | furo | the site
/usr/bin/python3 -c 'import myst_parser' | python3-myst-parser | the site
command -v mandoc | mandoc | the man pages
command -v man | man-db | the man pages
command -v ledger | ledger | the demo against another program
command -v hledger | hledger | the demo against a second one
command -v clang | clang | fuzz targets
ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a | libclang-rt-dev | fuzz targets
command -v gcovr | gcovr | the coverage of the tests
command -v spin | spin | the models of the protocols
ls /usr/include/valgrind/callgrind.h | valgrind | the instructions for each task
command -v abidiff | abigail-tools | the interface beside earlier releases
command -v musl-gcc | musl-tools | a build for musl
command -v aarch64-linux-gnu-gcc | gcc-aarch64-linux-gnu | a build for another processor
ls /usr/aarch64-linux-gnu/include/stdio.h | libc6-dev-arm64-cross | a build for another processor
command -v qemu-aarch64 | qemu-user | running it
command -v meson | meson | a Meson project that uses the library
command -v dh | debhelper | Debian packages
command -v lintian | lintian | Debian packages
command -v mmdebstrap | mmdebstrap | Debian packages in a new root
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
        echo "missing (package: purpose):"
        echo "$missing"
    fi
    if grep -q ':required$' <<<"$missing"; then
        echo "install what is required and try again"
        return 1
    fi
}
