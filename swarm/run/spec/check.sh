#!/bin/bash
# Checks step_ledger.pml with spin and gcc; installs nothing, leaves nothing behind.
# usage: swarm/run/spec/check.sh [quick|full]
#   quick  every configuration with one fault, and every mutant (default)
#   full   adds two faults: half an hour more; a search is stopped at LIMIT seconds and says so
# A rule holds with "errors: 0" on a finished search; a mutant must have a counterexample.
# Exit: 0, 1 when anything is otherwise, 2 without spin or gcc. One core, up to 5 GB of memory.
set -u
cd "$(dirname "$0")" || exit 1
model=$PWD/step_ledger.pml
work=${TMPDIR:-/tmp}/step_ledger.$$
limit=${LIMIT:-600}
failed=0
trap 'rm -rf "$work"' EXIT
for tool in spin gcc; do command -v $tool >/dev/null || { echo "needs $tool"; exit 2; }; done

# search NAME MODEL_FLAGS GCC_FLAGS PAN_FLAGS: leaves its output in $work/NAME/out
search() {
  mkdir -p "$work/$1" && cd "$work/$1" && cp "$model" m.pml || exit 1
  spin $2 -a m.pml >spin.log 2>&1 || { cat spin.log; exit 1; }
  gcc -O2 -DVECTORSZ=2048 -DMEMLIM=12000 $3 -o pan pan.c >gcc.log 2>&1 ||
    { cat gcc.log; exit 1; }
  timeout "$limit" ./pan $4 >out 2>&1
}
holds() {
  search "$@"
  local states depth
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out)
  depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' out)
  if grep -q 'errors: 0' out &&
      ! grep -q 'Search not completed\|max search depth too small' out; then
    echo "holds     $1: $states states, depth $depth"
  elif grep -q 'errors: [1-9]' out; then
    echo "VIOLATED  $1: $(grep -m1 'pan:1:' out)"
    failed=1
  else
    echo "no error  $1: stopped at $limit s, search not finished"
    [ "${5:-}" = partial ] || failed=1
  fi
}
killed() {   # a mutant must be refuted
  search "$1" "$2" "-DSAFETY -DBITSTATE" "-m400000 -w30"
  if grep -q 'errors: 1' out && ! grep -q 'net\[' out; then
    echo "killed    $1: $(sed -n 's/^pan:1: //p' out | head -1)"
  else
    echo "SURVIVED  $1"
    failed=1
  fi
}
exact="-DSAFETY -DCOLLAPSE"; bits="-DSAFETY -DBITSTATE"

echo "-- the rules hold (one fault of any kind; messages fully asynchronous)"
holds no_fault          "-DF=0"                    "$exact" "-m400000"
holds one_fault_2x2     "-DF=1"                    "$bits"  "-m400000 -w32"
echo "-- other shapes; reports handled at once (SYNC)"
holds one_fault_1_2_1   "-DCFG=2 -DF=1 -DSYNC"     "$bits"  "-m400000 -w32"
holds one_fault_3_1     "-DCFG=3 -DF=1 -DSYNC"     "$bits"  "-m400000 -w32"
holds joiner_mid_step   "-DJOIN=3 -DF=1 -DSYNC -DT=1" "$bits" "-m400000 -w33"
holds readmit_mid_step  "-DREADMIT -DF=1 -DSYNC"   "$bits"  "-m400000 -w33"
echo "-- no cycle at all: with 'no invalid end state' every run ends in the commit of the last step"
holds every_run_ends    "-DF=1 -DSYNC"             "-DNP -DNOFAIR -DBITSTATE" "-m2000000 -l -w33"

echo "-- mutants: one rule removed"
only_suspect="-DNO_CRASH -DNO_LOSS -DNO_DUP -DNO_TIMEOUT -DNO_RESTART"
killed no_fencing          "-DF=2 -DSYNC -DMUT_NOFENCE -DNO_CRASH"
killed no_id_check         "-DF=2 -DSYNC -DMUT_NOIDCHECK"
killed no_reduce_epoch     "-DF=2 -DSYNC -DMUT_NOEPOCH"
killed no_mask             "-DF=2 -DSYNC -DMUT_NOMASK"
killed no_dedup            "-DF=1 -DSYNC -DMUT_NODEDUP -DMUT_SUPERSET -DNO_CRASH -DNO_SUSPECT \
  -DNO_LOSS -DNO_TIMEOUT -DNO_RESTART"
killed no_floor            "-DF=2 -DSYNC -DMUT_NOFLOOR -DMUT_SUPERSET"
killed commit_before_fsync "-DF=2 -DSYNC -DMUT_NOFSYNC"
killed commit_any_result   "-DF=1 -DSYNC -DMUT_COMMITANY $only_suspect"
killed commit_no_holder    "-DF=2 -DSYNC -DMUT_NOHOLDER"
killed epochs_reused       "-DF=2 -DSYNC -DMUT_EPOCHREUSE"
killed no_version_check    "-DF=1 -DSYNC -DMUT_NOVERSION $only_suspect"

if [ "${1:-quick}" = full ]; then
  echo "-- two faults (bitstate)"
  two="-DF=2 -DSYNC -DK=16"
  holds joiner_any_fault "-DJOIN=3 -DF=1 -DSYNC" \
    "$bits" "-m400000 -w35" partial
  holds two_any_one_step "$two -DT=1" \
    "$bits" "-m400000 -w35" partial
  holds two_crash_suspect "$two -DNO_LOSS -DNO_DUP -DNO_TIMEOUT -DNO_RESTART" \
    "$bits" "-m400000 -w35" partial
  holds two_crash_restart "$two -DNO_LOSS -DNO_DUP -DNO_TIMEOUT -DNO_SUSPECT" \
    "$bits" "-m400000 -w35" partial
  holds two_any "$two" \
    "$bits" "-m400000 -w35" partial
fi
exit $failed
