#!/usr/bin/env bash
# A PostgreSQL server of a test's own, in a folder of its own, on a Unix socket only.
#
#     server.sh [SETTING=VALUE...]
#
# Prints "ready FOLDER" when the server answers; the socket is in FOLDER. Prints "skip REASON" if
# the server's programs are missing, and "failed REASON" if they fail. Then each line of standard
# input is a command, answered by a line "done" or "failed REASON":
#
#     crash    the server ends at once, without writing what it still has in memory
#     stop     the server shuts down in order
#     start    the server starts again
#     disk     makes a file system of 4 MiB in FOLDER/small; "skip REASON" if that is not allowed
#
# At the end of the input the server ends, and the folder is removed. So a test that fails, or is
# killed, leaves nothing behind. PostgreSQL refuses to run as root: root runs it as "nobody".
set -u

# Mounts of root are in a name space of the script's own, and end with it.
if [ "$(id -u)" = 0 ] && [ -z "${LANEPOOL_PG_UNSHARED:-}" ] &&
    unshare --mount true 2>/dev/null; then
    LANEPOOL_PG_UNSHARED=1 exec unshare --mount bash "$0" "$@"
fi
trap '' INT TERM HUP PIPE
settings=("$@")
place=
postmaster=

give_up() { # give_up <first word> <reason>
    echo "$1 $2"
    [ -z "$place" ] || remove_folder
    exit 1
}

# Prints the folder of the newest installed server.
find_programs() {
    local folder
    folder=$(find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | sort -V | tail -1)
    [ -n "$folder" ] || folder=$(command -v initdb)
    dirname "${folder:-/}"
}

# Runs a program in the folder as a user that is not root.
run_as_user() {
    cd "$place" || return
    if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups -- "$@"
    fi
    exec "$@"
}

# Starts the server, and waits until it answers. Returns false if it ends before.
start_server() {
    local options=() setting
    for setting in ${settings[@]+"${settings[@]}"}; do
        options+=(-c "$setting")
    done
    (run_as_user "$programs/postgres" -D "$place/data" -k "$place" -F -c listen_addresses= \
        -c shared_buffers=16MB ${options[@]+"${options[@]}"}) >>"$place/log" 2>&1 </dev/null &
    postmaster=$!
    until "$programs/pg_isready" -q -h "$place"; do
        kill -0 "$postmaster" 2>/dev/null || return 1
        sleep 0.02
    done
}

end_server() { # end_server <signal>
    [ -n "$postmaster" ] || return 0
    kill -s "$1" "$postmaster" 2>/dev/null
    wait "$postmaster"
    postmaster=
}

make_small_disk() {
    [ -n "${LANEPOOL_PG_UNSHARED:-}" ] && mkdir "$place/small" &&
        mount -t tmpfs -o size=4m,mode=700,uid="$(id -u nobody)" tmpfs "$place/small" 2>/dev/null
}

remove_folder() {
    umount "$place/small" 2>/dev/null
    rm -rf "$place"
}

programs=$(find_programs)
[ -x "$programs/initdb" ] || give_up skip "initdb is not installed (Debian: postgresql)"
[ "$(id -u)" != 0 ] || command -v setpriv >/dev/null || give_up skip "setpriv is not installed"
place=$(mktemp -d "${TMPDIR:-/tmp}/lanepool-pg.XXXXXX") || give_up failed "no temporary folder"
[ "$(id -u)" != 0 ] || chown nobody "$place"
(run_as_user "$programs/initdb" -D data -A trust -N -U admin --locale=C -E UTF8 \
    --no-instructions) >"$place/initdb.log" 2>&1 </dev/null ||
    give_up failed "initdb: $(tail -1 "$place/initdb.log")"
start_server || give_up failed "postgres: $(tail -1 "$place/log")"
echo "ready $place"

while read -r command; do
    answer=done
    case $command in
    crash) end_server QUIT ;;
    stop) end_server INT ;;
    disk) make_small_disk || answer="skip file systems cannot be mounted" ;;
    start) start_server || answer="failed $(tail -1 "$place/log")" ;;
    *) answer="failed unknown command" ;;
    esac
    echo "$answer"
done
end_server QUIT
remove_folder
