# swarm_add_test(<name> [LABEL <label>] [TIMEOUT <s>] SOURCES <files> DEPENDS <targets>)
# One executable <name>_test; its tests carry the label (default: unit), so ctest -L <label> runs
# them. Called from a folder below tests/.
include(GoogleTest)

function(swarm_add_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE swarm_warnings ${arg_DEPENDS} GTest::gtest_main)
  gtest_discover_tests(${name}_test
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60  # LibTorch from a cold disk takes longer than the default 5 s
    TEST_PREFIX "${name}."
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
