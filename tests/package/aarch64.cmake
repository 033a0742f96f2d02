# Builds for aarch64 with Debian's cross compiler, and runs programs by qemu.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
find_program(LANEPOOL_CROSS_CXX aarch64-linux-gnu-g++)
if(LANEPOOL_CROSS_CXX)
    set(CMAKE_CXX_COMPILER ${LANEPOOL_CROSS_CXX})
else()
    set(CMAKE_CXX_COMPILER "") # not the one of this machine
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
