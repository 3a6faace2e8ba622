#!/usr/bin/env bash
# Runs everything that has to pass before a commit lands: checks of the sources (rooms, includes, kernel lists, format,
# scripts), tests with gcc, tests with clang and sanitizers, a race check, and a minute of fuzzing. --long adds the test
# cases tagged [.long] and the wheel. At the end it prints the slowest tests, the time of each part, and, in the
# last line, the counts. A check that cannot run is skipped, or fails if ONEBIT_REQUIRE (comma-separated) names it.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

long=no
case "$#:${1:-}" in
  0:) ;;
  1:--long) long=yes ;;
  *) fail "usage: scripts/test.sh [--long]" ;;
esac

passed=0 failed=0 skipped=0 # counts of test cases, and of checks and jobs that failed or could not run
summary=()
took=()  # time of each part
slow=()  # the slowest tests of each job

pass() { summary+=("passed   $*"); }

flunk() {
  failed=$((failed + 1))
  summary+=("FAILED   $*")
}

# skip NAME REASON
skip() {
  if [[ ",${ONEBIT_REQUIRE:-}," == *",$1,"* ]]; then
    flunk "$1: ONEBIT_REQUIRE names it, but: $2"
  else
    skipped=$((skipped + 1))
    summary+=("SKIPPED  $1: $2")
  fi
}

# Sets cpu: the seconds of CPU time that the children of this script have used so far.
read_cpu() {
  local um us sm ss
  mkdir -p build
  times >build/times # not in a subshell, which has other children
  { read -r _ && IFS='ms ' read -r um us sm ss _; } <build/times
  cpu=$((um * 60 + ${us%.*} + sm * 60 + ${ss%.*}))
}

# timed NAME COMMAND...: records the wall and CPU time of the command, and returns its status
timed() {
  local name=$1 status=0 wall=$SECONDS cpu before
  read_cpu
  before=$cpu
  shift
  "$@" || status=$?
  read_cpu
  took+=("$(printf '%5d %5d  %s' $((SECONDS - wall)) $((cpu - before)) "$name")")
  return "$status"
}

# check NAME COMMAND...
check() {
  local name=$1
  shift
  say "$name"
  if "$@"; then pass "$name"; else flunk "$name"; fi
}

check_format() {
  local -a files=()
  local version
  version=$(clang-format --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p') || true
  mapfile -t files < <(git ls-files '*.hpp' '*.cpp' '*.cu' '*.cuh' 2>/dev/null)
  if [[ "$version" != 14 ]]; then
    skip clang-format "version 14 is needed, found ${version:-none}"
  elif ((${#files[@]} == 0)); then
    skip clang-format "git lists no files here"
  else
    check clang-format clang-format --dry-run --Werror "${files[@]}"
  fi
}

check_shell() {
  if command -v shellcheck >/dev/null; then
    check shellcheck shellcheck -x scripts/*.sh tests/*.sh tests/python/*.sh .ci/run
  else
    skip shellcheck "not installed"
  fi
}

# count NAME STATUS FILE: adds the results in FILE; a bad exit status without a failed test is a failure too
count() {
  local p f s
  read -r p f s < <(scripts/count-tests "$3") || true
  passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0}))
  if ((${f:-1})); then
    summary+=("FAILED   $1: ${f:-all} of $((${p:-0} + ${f:-0})) tests")
    if [[ "$3" == *.xml ]]; then summary+=("$(scripts/count-tests --failed "$3")"); fi
  elif (($2)); then
    flunk "$1: exit status $2 without a failed test"
  else
    pass "$1: $p tests"
  fi
}

# build PRESET PARALLEL
build() {
  local folder=build/$1
  say "$1: building"
  if ! quietly "$folder/configure.log" cmake --preset "$1" --fresh ||
    ! quietly "$folder/build.log" cmake --build --preset "$1" --parallel "$2"; then
    flunk "$1: does not build"
    return 1
  fi
}

# run_tests PRESET PARALLEL
run_tests() {
  local preset=$1 parallel=$2 folder=$PWD/build/$1 status=0
  say "$preset: testing"
  rm -f -- "$folder/junit.xml"
  ctest --preset "$preset" --parallel "$parallel" --output-junit "$folder/junit.xml" || status=$?
  count "$preset" "$status" "$folder/junit.xml"
  slow+=("$(scripts/slow-tests "$preset" "$folder/junit.xml")")
}

# job PRESET PARALLEL: build and ctest. Tests wait for disks and for other programs, so two more than the cores can run.
job() {
  if timed "$1: build" build "$@"; then timed "$1: tests" run_tests "$1" $(($2 + 2)); fi
}

# long_tests PRESET: the hidden test cases tagged [.long] of every test program
long_tests() {
  local program log status
  for program in build/"$1"/tests/*/test_*; do
    [[ -f "$program" && -x "$program" ]] || continue
    log=build/$1/long-${program##*/}.log status=0
    say "$program [.long]"
    "$program" "[.long]" >"$log" 2>&1 || status=$?
    if grep -q "No test cases matched" "$log"; then continue; fi
    if ((status)); then cat -- "$log"; fi
    count "${program##*/} [.long]" "$status" "$log"
  done
}

# Whether clang links with every run-time library that the sanitized job needs.
clang_works() {
  echo 'int main() {}' | clang++ -x c++ -fsanitize=address,undefined -fopenmp -o /dev/null - 2>/dev/null
}

# Prints the path of the library through which clang's OpenMP tells the race detector about barriers. Without it every
# parallel loop looks like a race.
find_archer() {
  local folder
  folder=$(clang++ -print-resource-dir 2>/dev/null) || return 0
  realpath -qe -- "$folder/../../libarcher.so" || true
}

# Whether the race detector links and starts. It refuses the address space layouts of some kernels.
tsan_works() {
  mkdir -p build
  echo 'int main() {}' | clang++ -x c++ -fsanitize=thread -fopenmp -o build/tsan-works - 2>/dev/null &&
    build/tsan-works >/dev/null 2>&1
}

# Checks the race check itself: it must report planted races, and nothing without them.
planted_races() {
  local probe=build/ci-tsan/tests/race_probe log=build/ci-tsan/race_probe.log race
  for race in kernel team blocks threads; do
    if "$probe" "$race" >"$log" 2>&1 || ! grep -q "ThreadSanitizer: data race" "$log"; then
      echo "race_probe $race: the planted race was not reported ($log)" >&2
      return 1
    fi
  done
  if ! ARCHER_OPTIONS=verbose=1 "$probe" >"$log" 2>&1 || ! grep -q "Archer detected" "$log"; then
    cat -- "$log"
    echo "race_probe: libarcher is not used, or a race was reported where there is none" >&2
    return 1
  fi
}

# Runs the kernels whose blocks wait for each other. The blocks of other kernels do not share what they write, and run
# slowly here.
races_of_blocks() { ONEBIT_TEST_BACKENDS=cuda build/ci-tsan/tests/device/test_device "groups*"; }

# Whether clang links with libFuzzer.
fuzzer_works() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address,undefined -o /dev/null - 2>/dev/null
}

# race_job: builds and tests the rooms that use threads, under ThreadSanitizer
race_job() {
  local archer
  archer=$(find_archer)
  if ! tsan_works; then
    skip tsan "clang++ -fsanitize=thread does not work here"
  elif [[ -z "$archer" ]]; then
    skip tsan "no libarcher.so next to clang++'s libraries (Debian: libomp-dev)"
  else
    # Accesses of uninstrumented libraries to their own memory look like races.
    local -x TSAN_OPTIONS=ignore_noninstrumented_modules=1 OMP_TOOL_LIBRARIES=$archer
    if ! timed "ci-tsan: build" build ci-tsan 2; then return 0; fi
    check "ci-tsan: planted races are reported" planted_races
    timed "ci-tsan: tests" run_tests ci-tsan 2
    timed "ci-tsan: emulated GPUs" check "ci-tsan: blocks of emulated GPUs" races_of_blocks
  fi
}

install_packages() {
  local clang_major
  ensure_packages "${build_packages[@]}" "${test_packages[@]}"
  ensure_packages "${page_packages[@]}" # without them tests of pages are skipped
  if command -v apt-get >/dev/null && command -v clang >/dev/null; then
    clang_major=$(clang -dumpversion)
    ensure_packages "libclang-rt-${clang_major%%.*}-dev" # clang's sanitizers; on Ubuntu the name depends on the release
  fi
}

# Makes a venv with JAX from PyPI (146 MB), unless there is one. Without it the test of the JAX worker is skipped.
install_jax() {
  local venv=build/jax
  if "$venv/bin/python3" -c 'import jax, h5py' 2>/dev/null; then return 0; fi
  say "installing JAX in $venv"
  quietly build/jax-venv.log python3 -m venv --clear "$venv" &&
    quietly build/jax-pip.log "$venv/bin/pip" install --retries 2 --no-compile jax h5py
}

wait_for_jax() { wait "$jax" || summary+=("SKIPPED  python: jax: JAX could not be installed from PyPI"); }

# Checks that need no build.
check_sources() {
  check check-rooms scripts/check-rooms
  check "check-rooms --self-test" scripts/check-rooms --self-test
  check check-includes scripts/check-includes
  check "check-includes --self-test" scripts/check-includes --self-test
  check check-kernels scripts/check-kernels
  check "check-kernels --self-test" scripts/check-kernels --self-test
  check "check-registers --self-test" scripts/check-registers --self-test
  check "gpu-predictions --self-test" scripts/gpu-predictions --self-test
  check_format
  check_shell
}

# report: prints what passed and what failed, and the time of each part
report() {
  printf '\n'
  printf '%s\n' "${slow[@]}"
  printf '\n wall   cpu  seconds of each part\n'
  printf '%s\n' "${took[@]}" "$(printf '%5d        all' "$SECONDS")"
  printf '\n'
  printf '%s\n' "${summary[@]}"
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
}

say "installing packages where they are missing"
timed "packages" install_packages
mkdir -p build
install_jax & # mostly waits for the network
jax=$!
check_cmake

export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0
export OMP_WAIT_POLICY=passive # several tests share the cores: do not spin

timed "checks of the sources" check_sources
timed "JAX" wait_for_jax # before the build, because both need all cores
job ci "$(cores)"
grep -qs "CUDA backend: yes" build/ci/configure.log || skip nvcc "not found: ci was built without the CUDA backend"
if [[ $long == yes ]]; then
  timed "ci: long tests" long_tests ci
  timed "wheel" check "the wheel installs without a compiler" tests/wheel_test.sh
fi
if clang_works; then job ci-clang 2; else skip clang "clang++ with sanitizers and OpenMP does not work here"; fi
race_job
if fuzzer_works; then
  timed "fuzzing" check "fuzzing every reader for 60 seconds" scripts/fuzz.sh 60s
  if [[ -s build/fuzz/findings.txt ]]; then summary+=("$(<build/fuzz/findings.txt)"); fi
else
  skip fuzz "clang++ -fsanitize=fuzzer does not work here"
fi

if ((passed + failed == 0)); then flunk "no test ran"; fi
report
((failed == 0))
