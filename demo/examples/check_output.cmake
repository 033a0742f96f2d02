# Runs a program, and compares what it prints with a file.
#
#     cmake -DPROGRAM=<path, after an emulator> -DEXPECTED=<file> [-DMAY_VARY=<regular expression>] -P check_output.cmake
#
# Where MAY_VARY matches, printed and expected text may differ.

execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE code)
file(READ ${EXPECTED} expected)
if(MAY_VARY)
  string(REGEX REPLACE "${MAY_VARY}" "*" printed "${printed}")
  string(REGEX REPLACE "${MAY_VARY}" "*" expected "${expected}")
endif()
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${code}, and printed:\n${printed}")
endif()
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} printed:\n${printed}\ninstead of:\n${expected}")
endif()
