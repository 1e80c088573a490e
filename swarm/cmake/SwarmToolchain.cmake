# Faster builds where the tools are there: ccache before the compiler, mold as linker.
# Setting CMAKE_CXX_COMPILER_LAUNCHER or CMAKE_EXE_LINKER_FLAGS yourself wins.
# ccache sees paths below the checkout as relative ones and forgets the folder of the build, so that
# a clone at another path finds what this one has compiled.
find_program(SWARM_CCACHE ccache)
if(SWARM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    /usr/bin/env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${SWARM_CCACHE}")
endif()
# __FILE__ names a file from the root of the checkout: in messages, and for ccache, whose clones
# would differ by it.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>")
# gcc looks for garbage each time its heap has doubled, from 128 MB on. Looking from half a gigabyte
# on saves a tenth of a unit's time; three units peaked at 0.85 to 1.16 GB then, at 0.68 to 0.93 else.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>")
endif()
find_program(SWARM_MOLD mold)
if(SWARM_MOLD AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld")
  add_link_options(-fuse-ld=mold)
endif()

# clang has coroutines, but says so only from version 17 on; until then libstdc++ and Asio hide them.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 17)
  add_compile_definitions(__cpp_impl_coroutine=201902L)
endif()
