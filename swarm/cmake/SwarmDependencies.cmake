# Everything from outside, in one place. Versions: Debian 12. LibTorch: FindSwarmTorch.
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(Snappy 1.1 REQUIRED)
find_package(tomlplusplus 3.3 REQUIRED)
find_package(ZLIB 1.2 REQUIRED)

# libsentencepiece exports a protobuf of its own, 3.14. Of two shared ones in a process the first
# would serve both, and end it before main(): so ours is a part of each program, and hidden.
# whole-archive: else a shared library that comes earlier in the command would be asked first.
find_library(SWARM_PROTOBUF_ARCHIVE libprotobuf-lite.a REQUIRED
  DOC "libprotobuf-lite.a, 3.21 or newer; Debian: libprotobuf-dev")
add_library(swarm_protobuf INTERFACE)
target_include_directories(swarm_protobuf SYSTEM INTERFACE ${Protobuf_INCLUDE_DIRS})
target_link_options(swarm_protobuf INTERFACE
  "LINKER:--whole-archive,${SWARM_PROTOBUF_ARCHIVE},--no-whole-archive"
  LINKER:--exclude-libs,libprotobuf-lite.a)
target_link_libraries(swarm_protobuf INTERFACE Threads::Threads)

# msgpack's Debian package clashes with Boost 1.81, so swarm.sh extracts its headers into the cache.
find_path(SWARM_MSGPACK_INCLUDE msgpack.hpp HINTS "$ENV{SWARM_DEPS}/msgpack/usr/include" REQUIRED
  DOC "Folder with msgpack.hpp; ./swarm.sh build puts it there")
add_library(swarm_msgpack INTERFACE)
target_include_directories(swarm_msgpack SYSTEM INTERFACE "${SWARM_MSGPACK_INCLUDE}")
target_compile_definitions(swarm_msgpack INTERFACE MSGPACK_NO_BOOST)

# Debian's libzstd-dev brings no CMake package.
find_path(SWARM_ZSTD_INCLUDE zstd.h REQUIRED DOC "Folder with zstd.h; Debian: libzstd-dev")
find_library(SWARM_ZSTD_LIBRARY zstd REQUIRED DOC "libzstd, 1.4 or newer; Debian: libzstd-dev")
add_library(swarm_zstd INTERFACE)
target_include_directories(swarm_zstd SYSTEM INTERFACE "${SWARM_ZSTD_INCLUDE}")
target_link_libraries(swarm_zstd INTERFACE "${SWARM_ZSTD_LIBRARY}")

# Debian's package has no CMake configuration.
find_path(SWARM_PCRE2_INCLUDE pcre2.h REQUIRED DOC "Folder with pcre2.h (libpcre2-dev)")
find_library(SWARM_PCRE2_LIBRARY pcre2-8 REQUIRED DOC "libpcre2-8 (libpcre2-dev)")
add_library(swarm_pcre2 INTERFACE)
target_include_directories(swarm_pcre2 SYSTEM INTERFACE "${SWARM_PCRE2_INCLUDE}")
target_link_libraries(swarm_pcre2 INTERFACE "${SWARM_PCRE2_LIBRARY}")

find_path(SWARM_UTF8PROC_INCLUDE utf8proc.h REQUIRED
  DOC "Folder with utf8proc.h (libutf8proc-dev)")
find_library(SWARM_UTF8PROC_LIBRARY utf8proc REQUIRED DOC "libutf8proc (libutf8proc-dev)")
add_library(swarm_utf8proc INTERFACE)
target_include_directories(swarm_utf8proc SYSTEM INTERFACE "${SWARM_UTF8PROC_INCLUDE}")
target_link_libraries(swarm_utf8proc INTERFACE "${SWARM_UTF8PROC_LIBRARY}")

find_path(SWARM_SENTENCEPIECE_INCLUDE sentencepiece_trainer.h REQUIRED
  DOC "Folder with sentencepiece_trainer.h (libsentencepiece-dev)")
find_library(SWARM_SENTENCEPIECE_LIBRARY sentencepiece REQUIRED
  DOC "libsentencepiece (libsentencepiece-dev)")
find_library(SWARM_SENTENCEPIECE_TRAIN_LIBRARY sentencepiece_train REQUIRED
  DOC "libsentencepiece_train (libsentencepiece-dev)")
add_library(swarm_sentencepiece INTERFACE)
target_include_directories(swarm_sentencepiece SYSTEM INTERFACE "${SWARM_SENTENCEPIECE_INCLUDE}")
target_link_libraries(swarm_sentencepiece INTERFACE
  "${SWARM_SENTENCEPIECE_TRAIN_LIBRARY}" "${SWARM_SENTENCEPIECE_LIBRARY}")

if(SWARM_WITH_NET)
  find_package(CLI11 2.1 REQUIRED)

  # The configuration of Debian's package wants what serves and pushes figures, too.
  find_path(SWARM_PROMETHEUS_INCLUDE prometheus/registry.h REQUIRED
    DOC "Folder with prometheus/registry.h (prometheus-cpp-dev)")
  find_library(SWARM_PROMETHEUS_LIBRARY prometheus-cpp-core REQUIRED
    DOC "libprometheus-cpp-core, 1 (prometheus-cpp-dev)")
  add_library(swarm_prometheus INTERFACE)
  target_include_directories(swarm_prometheus SYSTEM INTERFACE "${SWARM_PROMETHEUS_INCLUDE}")
  target_link_libraries(swarm_prometheus INTERFACE "${SWARM_PROMETHEUS_LIBRARY}")

  # Debian's package has no CMake configuration.
  find_path(SWARM_QRENCODE_INCLUDE qrencode.h REQUIRED DOC "Folder with qrencode.h (libqrencode-dev)")
  find_library(SWARM_QRENCODE_LIBRARY qrencode REQUIRED DOC "libqrencode, 4 (libqrencode-dev)")
  add_library(swarm_qrencode INTERFACE)
  target_include_directories(swarm_qrencode SYSTEM INTERFACE "${SWARM_QRENCODE_INCLUDE}")
  target_link_libraries(swarm_qrencode INTERFACE "${SWARM_QRENCODE_LIBRARY}")
endif()
if(SWARM_WITH_TORCH)
  find_package(SwarmTorch 2.11 REQUIRED OPTIONAL_COMPONENTS cuda)
endif()
if(SWARM_WITH_TESTS)
  find_package(GTest REQUIRED)
endif()
