# Faster builds where the tools are there: ccache before the compiler, mold as linker.
# Setting CMAKE_CXX_COMPILER_LAUNCHER or CMAKE_EXE_LINKER_FLAGS yourself wins.
find_program(SWARM_CCACHE ccache)
if(SWARM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${SWARM_CCACHE}")
endif()
find_program(SWARM_MOLD mold)
if(SWARM_MOLD AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld")
  add_link_options(-fuse-ld=mold)
endif()
