# swarm_add_test(<name> [LABEL <label>] [TIMEOUT <s>] SOURCES <files> DEPENDS <targets>)
# One executable <name>_test; its tests carry the label (default: unit): target <label>_tests builds
# them, ctest -L <label> runs them. Called from a folder below tests/.
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
  if(SWARM_UNITY)
    swarm_compile_together(${name}_test ${arg_SOURCES})
  endif()
  target_link_libraries(${name}_test PRIVATE swarm_warnings ${arg_DEPENDS} test_places GTest::gtest_main)
  if(NOT TARGET ${arg_LABEL}_tests)
    add_custom_target(${arg_LABEL}_tests)
  endif()
  add_dependencies(${arg_LABEL}_tests ${name}_test)
  # The modules are what is under test and what takes long to run. The tests themselves compile in
  # half the time without optimisation, and without checks and counters of sanitizers.
  target_compile_options(${name}_test PRIVATE -O0)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(${name}_test PRIVATE -fno-sanitize=undefined,fuzzer-no-link)
  endif()
  gtest_discover_tests(${name}_test
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60  # LibTorch from a cold disk takes longer than the default 5 s
    TEST_PREFIX "${name}."
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
