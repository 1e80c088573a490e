# cmake -DSOURCE=<folder> -DOUT=<file.cpp> -P WriteCommit.cmake
# Writes program_commit() with the commit of SOURCE, and only when it has changed.
execute_process(COMMAND git describe --always --dirty WORKING_DIRECTORY "${SOURCE}"
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
set(text "#include \"swarm/cli/sim/program_commit.hpp\"

const char* swarm::cli::program_commit() {
    return \"${commit}\";
}
")
file(WRITE "${OUT}.new" "${text}")
file(COPY_FILE "${OUT}.new" "${OUT}" ONLY_IF_DIFFERENT)
