# What `./swarm.sh install` puts below a prefix: the program and the libraries that no Debian package
# has, its scenarios, manual pages, the completion of bash, and a systemd unit. Debian's libraries
# stay where they are.
include(GNUInstallDirs)

set_target_properties(swarm PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/swarm")
install(TARGETS swarm RUNTIME_DEPENDENCY_SET swarm_libraries COMPONENT swarm)
foreach(library swarm_torch swarm_cuda)
  if(TARGET ${library})
    install(TARGETS ${library} RUNTIME_DEPENDENCY_SET swarm_libraries
      LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/swarm" COMPONENT swarm)
  endif()
endforeach()
# Built where there is nvcc.
install(FILES "${PROJECT_BINARY_DIR}/lib/libswarm_codecs_cuda.so"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/swarm" COMPONENT swarm OPTIONAL)
# Those of LibTorch find each other in their own folder.
install(RUNTIME_DEPENDENCY_SET swarm_libraries
  PRE_INCLUDE_REGEXES "^lib(torch|c10|gomp|cu|nv|shm)"
  PRE_EXCLUDE_REGEXES ".*"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/swarm" COMPONENT swarm)
install(FILES ${scenarios} DESTINATION "${CMAKE_INSTALL_DATADIR}/swarm/scenarios" COMPONENT swarm)
install(FILES "$ENV{SWARM_DEPS}/corpus/austen.txt"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/swarm" COMPONENT swarm OPTIONAL)
install(FILES "${PROJECT_SOURCE_DIR}/swarm/cli/serve/service.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT swarm)

# The prefix is known when the files are put there.
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(COMMAND \"$<TARGET_FILE:swarm>\" manual \"\${root}/${CMAKE_INSTALL_DATADIR}\"
    COMMAND_ERROR_IS_FATAL ANY)
  set(SWARM_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
  configure_file(\"${PROJECT_SOURCE_DIR}/swarm/cli/serve/swarm-serve@.service.in\"
    \"\${root}/lib/systemd/system/swarm-serve@.service\" @ONLY)
" COMPONENT swarm)
