#!/usr/bin/env bash
# Checks that only src/platform/ uses threads, locks, clocks and memory of the system. All other
# sources use src/platform/platform.h, so that they run on any platform, simulated ones included.
# src/adapters/ is not part of the library: it uses the public headers and another library.
# src/inspect/ and src/remote/ use the public headers, too, and their memory.c get their memory from
# the system.
#
#     door.sh <project>
set -euo pipefail

project=$1
names='pthread_|sem_|clock_|sched_yield|nanosleep|usleep|syscall|mmap|munmap|_Thread_local|thread_local'
names+='|(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|sleep) *\('
headers='pthread|semaphore|time|sched|unistd|threads|malloc|sys/[a-z]+|linux/[a-z]+'
found=0
shopt -s nullglob

sources() { # sources <pattern>: prints the files that must not use the system
    find "$project/src" -path "$project/src/platform" -prune -o -path "$project/src/adapters" -prune \
        -o -path "$project/src/*/memory.c" -prune -o -name "$1" -print | sort
}

while IFS= read -r file; do
    # The preprocessor removes comments, and expands nothing. Files of the project may have any
    # name.
    code=$("${CC:-cc}" -fpreprocessed -dD -E -P "$file" 2>/dev/null | grep -vE '^ *# *include *"' || true)
    if grep -nE "\\b($names)|# *include *<($headers)\\.h>" <<<"$code"; then
        echo "$file: uses the system without src/platform/platform.h"
        found=1
    fi
done < <(sources '*.[ch]')

# C allows to read or write an atomic object by its name alone. That does not use the platform
# either.
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
