# shellcheck shell=bash
# What the tests of packages share.

# Ends the test as skipped if one of the programs is missing.
need() { # need <program>...
    local program
    for program in "$@"; do
        if ! command -v "$program" >/dev/null; then
            echo "$program is missing"
            exit 77
        fi
    done
}

# Copies the files of the project, without what was built.
copy_project() { # copy_project <project> <new folder>
    mkdir -p "$2"
    if git -C "$1" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        (cd "$1" && git ls-files --cached --others --exclude-standard -z |
            xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\\0" "$file"; done' sh |
            xargs -0 cp -P --parents -t "$2")
    else
        (cd "$1" && tar --exclude='./build*' -cf - .) | tar -C "$2" -xf -
    fi
}
