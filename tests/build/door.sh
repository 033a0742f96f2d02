#!/usr/bin/env bash
# Only src/platform/ may touch threads, locks, clocks and memory: everything else goes through it,
# so that the same source runs on any platform layer, simulated ones included. What is in
# src/adapters/ is not the library's: it uses the public headers and another library.
#
#     door.sh <project>
set -euo pipefail

project=$1
names='pthread_|sem_|clock_|sched_yield|nanosleep|usleep|syscall|mmap|munmap|_Thread_local|thread_local'
names+='|(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|sleep) *\('
headers='pthread|semaphore|time|sched|unistd|threads|malloc|sys/[a-z]+|linux/[a-z]+'
found=0
shopt -s nullglob

sources() { # sources <pattern>: the library's files, but for the door itself
    find "$project/src" -path "$project/src/platform" -prune -o -path "$project/src/adapters" -prune \
        -o -name "$1" -print | sort
}

while IFS= read -r file; do
    # The preprocessor takes comments out, and expands nothing. A file of ours may have any name.
    code=$("${CC:-cc}" -fpreprocessed -dD -E -P "$file" 2>/dev/null | grep -vE '^ *# *include *"' || true)
    if grep -nE "\\b($names)|# *include *<($headers)\\.h>" <<<"$code"; then
        echo "$file: passes the door in src/platform/ by"
        found=1
    fi
done < <(sources '*.[ch]')

# An atomic object that is read or written by name alone passes the door by, too: C allows it.
if command -v clang >/dev/null; then
    while IFS= read -r file; do
        if ! clang -std=c11 -fsyntax-only -Wno-everything -Werror=atomic-implicit-seq-cst \
            -I"$project/src" -I"$project/include" "$file"; then
            echo "$file: an atomic object without a named operation"
            found=1
        fi
    done < <(sources '*.c')
fi

exit $found
