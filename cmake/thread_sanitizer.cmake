# Whether programs can be built with ThreadSanitizer, and how they are run, for tests and examples.

include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
set(CMAKE_REQUIRED_LINK_OPTIONS -fsanitize=thread)
check_c_source_compiles("int main(void) { return 0; }" LANEPOOL_HAS_THREAD_SANITIZER)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)

# It maps memory at fixed addresses, which strong address randomization can occupy.
set(LANEPOOL_FIXED_ADDRESSES setarch ${CMAKE_SYSTEM_PROCESSOR} --addr-no-randomize)
execute_process(COMMAND ${LANEPOOL_FIXED_ADDRESSES} true
    RESULT_VARIABLE setarch_result OUTPUT_QUIET ERROR_QUIET)
if(NOT setarch_result EQUAL 0)
    set(LANEPOOL_FIXED_ADDRESSES "")
endif()

# lanepool_use_thread_sanitizer(<program>)
function(lanepool_use_thread_sanitizer program)
    target_compile_options(${program} PRIVATE -O1 -g -fsanitize=thread)
    target_link_options(${program} PRIVATE -fsanitize=thread)
endfunction()
