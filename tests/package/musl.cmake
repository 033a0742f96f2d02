# Builds for musl, on the same processor. The kernel's headers are not musl's, so they are looked for
# behind those of musl.

set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_C_FLAGS_INIT
    "-idirafter /usr/include -idirafter /usr/include/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu")
