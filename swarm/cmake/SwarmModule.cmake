# swarm_add_module(SOURCES ... HEADERS ... [DEPENDS <targets>] [EXTERNAL <targets>])
# Called from the module's own folder: swarm/base -> target swarm_base. One folder = one static
# library = one namespace. Adds a link test: the whole archive must link with its declared
# dependencies alone, so a call into a layer above, or beside, fails the build.

add_library(swarm_warnings INTERFACE)
target_compile_options(swarm_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # gcc does not count signs as conversions; clang does unless told.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)

# A header that does not compile alone fails the build of <target>_verify_interface_header_sets.
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

file(WRITE "${PROJECT_BINARY_DIR}/link_test_main.cpp" "int main() { return 0; }\n")

# Most of a compiler's time goes into headers. Builds read them once for some files of a module or of
# a test: those of one folder, twelve at a time, and those that describe command lines (*_flags.cpp)
# with each other, since each of them is CLI11 and little else. Names without a namespace of their
# own must therefore differ within a folder, and among the latter. `./swarm.sh test --long` compiles
# each file of the preset asan alone, so a missing #include shows.
option(SWARM_UNITY "Compile the files of a folder together" ON)
set(SWARM_UNITY_FILES 12)

function(swarm_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # gcc takes each file but the first for a header, in which such a type would be a mistake.
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder "${source}" DIRECTORY)
    if(source MATCHES "_flags\\.cpp$")
      set(folder flags)
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" group)
    math(EXPR number "0${count_${group}}")
    math(EXPR part "${number} / ${SWARM_UNITY_FILES}")
    math(EXPR count_${group} "${number} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}${part}")
  endforeach()
endfunction()

# Under sanitizers an optimiser takes a third of a compiler's time. It is worth that where a test
# computes.
set(SWARM_OPTIMISED_UNDER_SANITIZERS
  "^(swarm_(base|data)|compression|compression_simd|stacking_(blocks|kernels|llama|tokenizers.*))$")

function(swarm_add_module)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;DEPENDS;EXTERNAL" ${ARGN})
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REPLACE "/" "_" target "${folder}")

  add_library(${target} STATIC ${arg_SOURCES})
  if(SWARM_UNITY)
    swarm_compile_together(${target} ${arg_SOURCES})
  endif()
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${arg_HEADERS})
  target_link_libraries(${target}
    PRIVATE $<BUILD_INTERFACE:swarm_warnings>
    PUBLIC ${arg_DEPENDS} ${arg_EXTERNAL})

  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND NOT target MATCHES "${SWARM_OPTIMISED_UNDER_SANITIZERS}")
    target_compile_options(${target} PRIVATE -O0)
  endif()

  if(SWARM_WITH_TESTS)
    add_executable(${target}_link_test "${PROJECT_BINARY_DIR}/link_test_main.cpp")
    target_link_libraries(${target}_link_test
      PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${target}>)
    add_test(NAME link.${target} COMMAND ${target}_link_test)
    set_tests_properties(link.${target} PROPERTIES LABELS link)
  endif()
endfunction()
