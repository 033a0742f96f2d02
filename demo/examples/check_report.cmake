# Runs a program that is built with ThreadSanitizer, and compares the first lines of its report with a
# file, without addresses and process numbers.
#
#     cmake "-DCALL=<program and its arguments>" -DEXPECTED=<file> -P check_report.cmake

execute_process(COMMAND ${CALL} ERROR_VARIABLE report)
file(READ ${EXPECTED} expected)
string(REGEX REPLACE "=+\n" "" report "${report}")
string(REGEX REPLACE "\n *#[1-9][^\n]*" "" report "${report}")
string(REGEX REPLACE "\n *Location.*" "" report "${report}")
string(REGEX REPLACE " at 0x[0-9a-f]+" "" report "${report}")
string(REGEX REPLACE " \\([^)\n]*\\)" "" report "${report}")
string(REGEX REPLACE " [^ \n]*(demo/examples/[^: \n]*:[0-9]+)[^\n]*" " \\1" report "${report}")
string(REGEX REPLACE "thread T[0-9]+" "thread T" report "${report}")
string(REGEX REPLACE "thread T[0-9]+" "thread T" wanted "${expected}")
string(STRIP "${report}" report)
string(STRIP "${wanted}" wanted)
if(NOT report STREQUAL wanted)
  message(FATAL_ERROR "${CALL} reported:\n${report}\ninstead of:\n${expected}")
endif()
