#!/usr/bin/env bash
# Builds, tests and shows swarm from a fresh clone on Debian 12 (x86-64). Safe to repeat: what is
# there is kept. Downloads lie in ${XDG_CACHE_HOME:-~/.cache}/swarm, shared by all clones, and are
# renamed into place only when complete and verified.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() { cat <<'USAGE'
usage: ./swarm.sh demo  [options]   build swarm, then train a small model with peers that die
       ./swarm.sh build [options]   build/release/swarm and build/release/swarm-bench
       ./swarm.sh install [options] build, then put the program below --prefix, with its manual
                                    pages, the completion of bash and a systemd unit
       ./swarm.sh test  [options]   build and run every test; last line: N passed, N failed

options:
  --gpu       with CUDA: LibTorch with all its NVIDIA wheels, in build/cuda
  --core      (test) only what needs no LibTorch, in build/core
  --debug     (build) unoptimised, with debug information, in build/debug
  --prefix DIR  (install) where to; default: /usr/local. DESTDIR is put before it, for packages
  --long      (test) the long tests too
  --offline   install and download nothing; name what is missing and stop
  -h, --help  this text

examples:
  ./swarm.sh demo                      # first run: minutes, most of them compiling
  ./swarm.sh build --gpu               # to lend a GPU: build/cuda/swarm serve --join HOST:PORT
  ./swarm.sh test --core               # most tests, no LibTorch
  ./swarm.sh install --prefix ~/.local # for one user, without root
  SWARM_TORCH_ROOT=/opt/torch ./swarm.sh build      # a LibTorch 2.11 of your own

Missing Debian packages are installed by apt-get, with sudo unless you are root.
USAGE
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/swarm
export SWARM_DEPS=$cache
jobs=$(nproc)
build_packages=(g++ cmake ninja-build ccache mold git ca-certificates python3-venv
    protobuf-compiler libprotobuf-dev libboost1.81-dev libboost-json1.81-dev libssl-dev
    libtomlplusplus-dev libcli11-dev libzstd-dev libpcre2-dev libsentencepiece-dev
    libutf8proc-dev libqrencode-dev prometheus-cpp-dev zlib1g-dev
    libsnappy-dev)
test_packages=(libgtest-dev clang-14 libclang-rt-14-dev chromium-headless-shell iproute2 nftables)
msgpack_deb=(libmsgpack-cxx-dev 4.1.3-1
    9adc2f26df4710f396239434f6cce90a718d75a3b38289957bb89b031748d8a1)
austen_deb=(r-cran-janeaustenr 1.0.0-1
    df6bddf211906d1ff404f8ff662c21b34e6660e7f54a311084e749050c019c95)
austen_sha256=65b434d16a8755142bfa95ba19c5f9abd0d30cf3dffe3b6793e834f9f56dcc96
torch_version=2.11.0
torch_wheels=(
    "torch==2.11.0 --hash=sha256:7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a"
    "nvidia-cuda-runtime==13.0.96 --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"
    "nvidia-cuda-cupti==13.0.85 --hash=sha256:4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8")
# Programs of others that read what swarm writes or ask its API; tests compare. Change the number
# with the list.
readers=readers-2
readers_wheels=(
    "tensorboard==2.21.0 --hash=sha256:7279316dcb6bd5bc391d623dea841531299cde1887310e8133bc34a996d32255"
    "protobuf==7.36.2 --hash=sha256:89f23aa53c24553a2416fd4fd1ec06f74fa42b14b546d8883128813f775bbfd2"
    "numpy==2.4.6 --hash=sha256:89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93"
    "absl-py==2.5.1 --hash=sha256:721200f2f0e9960f2ca9dc3a2a706b201f5f75d812c158f059cbbe29eeafbdb8"
    "openai==3.57.0 --hash=sha256:f97bc74024c06ced8428b56c4a3594066709d3082779bf9d0b4b6092fbf587a8"
    "annotated-types==0.8.0 --hash=sha256:f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0"
    "anyio==4.16.0 --hash=sha256:c66ae634e0b8228396b801741beb3294326d4b6102f7bba4041c0dfb58c29026"
    "h11==0.16.0 --hash=sha256:63cf8bbe7522de3bf65932fda1d9c2772064ffb3dae62d55932da54b31cb6c86"
    "httpcore2==2.16.2 --hash=sha256:16051ae2a42f776007543f32de9349a317b23d2cbb4e1456b4bac0e88b87419a"
    "httpx2==2.16.2 --hash=sha256:f05c13aade4c45dbf1c9060647a1058f0acad62398fad96e741269edb33d46f5"
    "idna==3.20 --hash=sha256:ab7ae7122974553370f0bdb919e1a960b2cd1bc1ef0276416d896db81c14582c"
    "jiter==0.19.0 --hash=sha256:cc4a2b70ecd4f102583344c1f8cc5dc11618665b1889286bb3b4279c19b337dd"
    "pydantic==2.14.4 --hash=sha256:653a2ad9f6d8858529c77c72717d0ea991d6c6837fe683246b2f4b2bbfc3fadc"
    "pydantic-core==2.50.5 --hash=sha256:488319076ec92908b91fc6265ce761f1d78748f69f85518564fd16bf333e1b70"
    "sniffio==1.3.1 --hash=sha256:2f6da418d1f1e0fddd844478f41680e794e6051915791a034ff65e5f100525a2"
    "truststore==0.10.5 --hash=sha256:9aaaedaefaf06d8b206278cf8b5012bc897f485a874503501e12d776df78951c"
    "typing-inspection==0.4.5 --hash=sha256:bc210535442b39e1bf2805e0c7a17dfd6a4ace760c84c7f7d16245d23a6b1c39"
    "typing-extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8")
# Beside the source in it lie tokenizers of real models; nothing of it is built.
llama_source="llama-cpp-python==0.3.36 --hash=sha256:832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"

say() { printf '==> %s\n' "$*"; }
stop() { printf 'swarm.sh: %s\n' "$*" >&2; exit 1; }
may_fetch() { ((!offline)) || stop "missing, and --offline forbids to fetch: $1"; }

# timed NAME COMMAND...: runs it and remembers the seconds for the closing line.
phases=
timed() {
    local name=$1 begin=$EPOCHREALTIME
    shift
    "$@"
    phases+="$(awk -v a="$begin" -v b="$EPOCHREALTIME" -v name="$name" \
        'BEGIN { printf " %s %.1f s;", name, b - a }')"
}

as_root() {
    ((EUID == 0)) || command -v sudo >/dev/null || stop "needs root and finds no sudo for: $*"
    if ((EUID)); then sudo "$@"; else "$@"; fi
}

install_packages() {
    command -v dpkg-query >/dev/null || stop "needs Debian 12 (apt-get); missing here: dpkg"
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    may_fetch "the packages ${missing[*]}"
    say "installing Debian packages: ${missing[*]}"
    as_root apt-get update -qq
    # --no-remove: never trade another Boost of yours for ours without asking.
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends --no-remove "${missing[@]}" </dev/null ||
        stop "apt-get could not install: ${missing[*]}"
}

# unpack_deb NAME VERSION SHA256 FOLDER
unpack_deb() {
    local name=$1 version=$2 sha256=$3 folder=$4
    may_fetch "$name=$version"
    say "downloading $name $version -> $cache"
    local get="cd '$scratch' && apt-get -qq -o APT::Sandbox::User=root download $name=$version"
    bash -c "$get" 2>/dev/null || { as_root apt-get update -qq && bash -c "$get"; } ||
        stop "apt-get could not download $name=$version"
    local deb=("$scratch/$name"_*.deb)
    echo "$sha256  ${deb[0]}" | sha256sum --check --quiet || stop "$name: wrong SHA-256"
    dpkg -x "${deb[0]}" "$scratch/$folder"
}

# Moves a finished download into place. Another clone may have been faster: then its copy stays.
publish() {
    mv -T "$scratch/$1" "$cache/$1" 2>/dev/null || [[ -e $cache/$1 ]] ||
        stop "cannot write $cache/$1"
}

fetch_corpus() {
    unpack_deb "${austen_deb[@]}" austen
    mkdir -p "$scratch/corpus"
    /usr/bin/python3 - "$scratch/austen/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb" \
        >"$scratch/corpus/austen.txt" <<'PYTHON'
import struct, sys, zlib
# Six zlib streams, each after its raw length; in each one R's XDR form of a vector of strings:
# 27 bytes of header and type, the count, then flags, length and bytes of each line.
rdb = open(sys.argv[1], "rb").read()
while rdb:
    stream = zlib.decompressobj()
    xdr, rdb = stream.decompress(rdb[4:]), stream.unused_data
    (count,), at = struct.unpack_from(">I", xdr, 27), 31
    for _ in range(count):
        (size,) = struct.unpack_from(">I", xdr, at + 4)
        sys.stdout.buffer.write(xdr[at + 8 : at + 8 + size] + b"\n")
        at += 8 + size
PYTHON
    echo "$austen_sha256  $scratch/corpus/austen.txt" | sha256sum --check --quiet ||
        stop "the demo corpus came out wrong"
    publish corpus
}

# pip writes a wheel's RECORD last, so three of them mean three complete wheels.
torch_is_complete() {
    local wheel
    for wheel in "torch-$torch_version" nvidia_cuda_runtime nvidia_cuda_cupti; do
        compgen -G "$1/lib/python3*/site-packages/$wheel*.dist-info/RECORD" >/dev/null || return
    done
}

download_torch() {
    local name=$1 pip=("$scratch/$1/bin/pip" --disable-pip-version-check -q install)
    [[ ! -e $cache/$name ]] ||
        stop "$cache/$name is incomplete: wait for who fills it, or remove it and repeat"
    may_fetch "LibTorch $torch_version"
    say "downloading LibTorch $torch_version (0.5 GB, with --gpu 3 GB) -> $cache/$name"
    /usr/bin/python3 -m venv "$scratch/$name"
    printf '%s\n' "${torch_wheels[@]}" >"$scratch/wheels"
    "${pip[@]}" --no-deps --only-binary :all: --require-hashes -r "$scratch/wheels" ||
        stop "pip could not install torch==$torch_version"
    # The wheel itself names the exact versions of the rest.
    ((!gpu)) || "${pip[@]}" --only-binary :all: "torch==$torch_version" ||
        stop "pip could not install torch==$torch_version with CUDA"
    publish "$name"
}

fetch_torch() {
    [[ -z ${SWARM_TORCH_ROOT:-} ]] || return 0
    local name=torch-$torch_version
    ((gpu)) && name+=-cuda
    torch_is_complete "$cache/$name" || download_torch "$name"
    SWARM_TORCH_ROOT=$(compgen -G "$cache/$name/lib/python3*/site-packages/torch")
}

# Makes the folder for downloads that are not complete.
make_scratch() {
    mkdir -p "$cache"
    scratch=$(mktemp -d "$cache/.partial.XXXXXX") # mktemp fills in the X
    trap 'rm -rf "$scratch"' EXIT
}

# fetch_programs NAME WHAT WHEEL...: makes an environment of Python from exactly these wheels.
fetch_programs() {
    local name=$1 what=$2
    shift 2
    [[ ! -e $cache/$name ]] || return 0
    may_fetch "PyPI: ${*%% *}"
    say "downloading $what -> $cache/$name"
    make_scratch
    /usr/bin/python3 -m venv "$scratch/$name"
    printf '%s\n' "$@" >"$scratch/wheels"
    "$scratch/$name/bin/pip" --disable-pip-version-check -q install --no-deps \
        --only-binary :all: --require-hashes -r "$scratch/wheels" ||
        stop "pip could not install: ${*%% *}"
    publish "$name"
    rm -rf "$scratch"
}

fetch_readers() {
    fetch_programs "$readers" "programs that read files of runs or ask the API (29 MB)" \
        "${readers_wheels[@]}"
}

# It invents requests from the API's own description.
fetch_schemathesis() {
    local wheels
    mapfile -t wheels < <(grep -v '^#' tests/process/api/schemathesis.txt)
    fetch_programs schemathesis-4 "PyPI's schemathesis, which invents requests (13 MB)" \
        "${wheels[@]}"
}

fetch_vocabularies() {
    [[ ! -e $cache/vocabularies ]] || return 0
    may_fetch "PyPI: ${llama_source%% *}"
    say "downloading tokenizers of real models (77 MB) -> $cache/vocabularies"
    make_scratch
    /usr/bin/python3 -m venv "$scratch/venv"
    printf '%s\n' "$llama_source" >"$scratch/source"
    "$scratch/venv/bin/pip" --disable-pip-version-check -q download --no-deps -d "$scratch" \
        --no-binary llama-cpp-python --require-hashes -r "$scratch/source" ||
        stop "pip could not download ${llama_source%% *}"
    mkdir "$scratch/vocabularies"
    tar -xzf "$scratch"/llama_cpp_python-*.tar.gz -C "$scratch/vocabularies" --strip-components 4 \
        --wildcards '*/vendor/llama.cpp/models/ggml-vocab-*'
    publish vocabularies
    rm -rf "$scratch"
}

# The program itself fetches models: `swarm model fetch`. Tests compare it with reference answers.
fetch_model() { # PRESET
    [[ ! -e $cache/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf ]] || return 0
    may_fetch "the model smollm2"
    build "$1" swarm
    "build/$1/swarm" model fetch smollm2 >/dev/null
}

fetch_all() {
    make_scratch
    # Extracted, not installed: its package wants a Boost that conflicts with ours.
    [[ -e $cache/msgpack ]] || { unpack_deb "${msgpack_deb[@]}" msgpack && publish msgpack; }
    [[ -e $cache/corpus ]] || fetch_corpus
    ((core)) || fetch_torch
    rm -rf "$scratch"
}

# build PRESET [TARGET...]
build() {
    local preset=$1 options=()
    shift
    [[ -z ${SWARM_TORCH_ROOT:-} || $preset =~ ^(core|asan)$ ]] ||
        options+=("-DSWARM_TORCH_ROOT=$SWARM_TORCH_ROOT")
    [[ $preset != asan ]] || options+=("-DSWARM_FUZZ_SECONDS=$((long ? 60 : 5))"
        "-DSWARM_UNITY=$((long ? 0 : 1))")
    say "building $preset: ${*:-everything} (-j$jobs) in build/$preset"
    cmake --preset "$preset" --log-level=WARNING "${options[@]}" >/dev/null ||
        stop "cmake --preset $preset failed"
    cmake --build "build/$preset/tree" -j "$jobs" ${1:+--target "$@"} ||
        stop "the build of preset $preset failed"
}

# run_tests PRESET [CTEST OPTION...]: goes on after a failure; the end of the script reports it.
passed=0 failed=0 failed_stages=() failed_tests=()
run_tests() {
    local preset=$1 log=build/$1/ctest.log total lost
    shift
    ctest --test-dir "build/$preset/tree" -j "$jobs" --output-on-failure --no-tests=error "$@" |
        tee "$log" || failed_stages+=("$preset")
    read -r lost total < <(awk '/tests? failed out of/ { print $4, $NF }' "$log") || true
    failed=$((failed + ${lost:-0}))
    passed=$((passed + ${total:-0} - ${lost:-0}))
    [[ ! -s build/$preset/tree/Testing/Temporary/LastTestsFailed.log ]] || ((${lost:-0} == 0)) ||
        mapfile -t -O "${#failed_tests[@]}" failed_tests \
            <"build/$preset/tree/Testing/Temporary/LastTestsFailed.log"
}

# What failed, and the end of what each of them said, where whoever reads the end finds it.
print_failures() {
    local test preset
    for test in "${failed_tests[@]}"; do
        say "failed: ${test#*:}"
        for preset in "${failed_stages[@]}"; do
            awk -v name="${test#*:}" '
                / +[0-9]+\/[0-9]+ Test +#/ { inside = index($0, " " name " ") > 0 && /\*\*\*/ }
                inside' "build/$preset/ctest.log" | tail -n 40
        done
    done
}

print_slowest_units() {
    say "slowest translation units of $1 (s)"
    awk -F'\t' '$4 ~ /\.o$/ { took[$4] = ($2 - $1) / 1000 }
        END { for (unit in took) printf "%8.1f  %s\n", took[unit], unit }' \
        "build/$1/tree/.ninja_log" | sort -rn | awk 'NR <= 10'
}

verb_build() { # [TARGET...]
    timed packages install_packages "${build_packages[@]}"
    timed download fetch_all
    timed build build "$preset" "$@"
}

verb_install() {
    verb_build swarm
    prefix=$(realpath -ms "$prefix")
    local target=${DESTDIR:-}$prefix above run=(env "DESTDIR=${DESTDIR:-}")  # sudo drops DESTDIR
    above=$target
    while [[ ! -e $above ]]; do above=$(dirname "$above"); done
    [[ -w $above ]] || run=(as_root "${run[@]}")
    "${run[@]}" cmake --install "build/$preset/tree" --component swarm --prefix "$prefix" >/dev/null
    say "times:$phases installed $target/bin/swarm; try: swarm --help, man swarm-serve"
    say "to lend this machine as a service: $target/share/doc/swarm/service.md"
}

verb_test() {
    local main=dev selection=(-LE long) sanitized=(unit_tests fuzz_tests)
    ((!core)) || main=core
    ((!long)) || selection=()
    timed packages install_packages "${build_packages[@]}" "${test_packages[@]}"
    timed download fetch_all
    timed readers fetch_readers
    ((!long)) || timed vocabularies fetch_vocabularies
    ((!long)) || timed schemathesis fetch_schemathesis
    timed model fetch_model "$main"
    timed "$main-build" build "$main"
    timed "$main" run_tests "$main" "${selection[@]}"
    # What peers, clients and files of others reach; the program and the simulator take half a build.
    ((!long)) || sanitized+=(cli_tests sim_tests drawn_fleets_test liars_test trace_hash)
    timed asan-build build asan "${sanitized[@]}"
    timed asan run_tests asan -L '^(unit|cli|sim)$'
    # 1,000 fleets and 200 runs with liars
    ((!long)) || SWARM_FLEET_BATCHES=10 timed asan-seeds run_tests asan -R 'ManyChaosScenarios|ManyLiars|TraceHash'
    timed fuzz run_tests asan -L fuzz  # each target for a moment, from its corpus
    print_slowest_units "$main"
    say "times:$phases"
    ((${#failed_stages[@]} == 0)) || { print_failures; say "failed in: ${failed_stages[*]}"; }
    echo "$passed passed, $failed failed"
    ((${#failed_stages[@]} == 0))
}

verb=${1:-help}
shift || true
gpu=0 core=0 debug=0 long=0 offline=0 prefix=/usr/local
while (($#)); do
    case $1 in
        --gpu | --core | --debug | --long | --offline) declare "${1#--}=1" ;;
        --prefix) (($# > 1)) || stop "--prefix wants a folder"; prefix=$2; shift ;;
        --prefix=*) prefix=${1#*=} ;;
        -h | --help) verb=help ;;
        *) stop "unknown option $1; see ./swarm.sh --help" ;;
    esac
    shift
done
preset=release
((!debug)) || preset=debug
((!gpu)) || preset=cuda
case $verb in
    demo)
        verb_build swarm
        say "times:$phases starting build/$preset/swarm local --demo"
        exec "build/$preset/swarm" local --demo ;;
    build)
        verb_build swarm swarm-bench
        say "times:$phases built build/$preset/swarm and swarm-bench" ;;
    install) verb_install ;;
    test) verb_test ;;
    help | -h | --help) usage ;;
    *) stop "unknown verb $verb; see ./swarm.sh --help" ;;
esac
