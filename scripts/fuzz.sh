#!/usr/bin/env bash
# Fuzzes every reader (data files, logs, traces, checkpoints, options and others) with libFuzzer, AddressSanitizer and
# UBSan, starting from the corpora under tests/fuzz/corpus. Usage: scripts/fuzz.sh [RUNS | SECONDSs] [READER...]. The
# first argument is a number of inputs for each reader, e.g. 10000000, or a time for all readers together (default:
# 60s). Every core fuzzes one reader at a time.
# Inputs that make a reader crash, hang or use too much memory go to build/fuzz/findings; the exit status is then 1, and
# build/fuzz/findings.txt says for each what happened, with the input in base64.
# Inputs that reach new code are kept in build/fuzz/corpus and used again.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

amount=${1:-60s}
shift || true
[[ "$amount" =~ ^[1-9][0-9]*s?$ ]] || fail "usage: scripts/fuzz.sh [RUNS | SECONDSs] [READER...]"
readers=("$@")
for reader in "${readers[@]}"; do [[ -d tests/fuzz/corpus/$reader ]] || fail "no reader $reader: see tests/fuzz/corpus"; done
if ((${#readers[@]} == 0)); then
  for folder in tests/fuzz/corpus/*/; do readers+=("$(basename -- "$folder")"); done
fi

timed_out=70 # libFuzzer's exit status
folder=build/fuzz program=build/ci-clang/tests/fuzz/fuzz # shares its libraries with the sanitized tests
mkdir -p "$folder/findings"
: >"$folder/findings.txt"
say "building the fuzzer"
quietly "$folder/configure.log" cmake --preset ci-clang
quietly "$folder/build.log" cmake --build --preset fuzz --parallel "$(cores)"

if [[ "$amount" == *s ]]; then
  rounds=$(((${#readers[@]} + $(cores) - 1) / $(cores)))
  seconds=$((${amount%s} / rounds))
  limit=-max_total_time=$((seconds > 0 ? seconds : 1))
else
  limit=-runs=$amount
fi

# run_reader READER ARGUMENT...: with the limits that are the same for every input
run_reader() { "$program" --reader="$1" -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=5 "${@:2}"; }

# fuzz READER: prints one line about the run; status 1 if there is a finding. An input that took too long is one only if
# it does so again, because the machine may have been busy.
fuzz() {
  local reader=$1 log=$folder/$1.log status=0 result="no finding" input
  mkdir -p "$folder/corpus/$reader"
  run_reader "$reader" "$limit" -max_len=1024 -print_final_stats=1 -artifact_prefix="$folder/findings/$reader-" \
    "$folder/corpus/$reader" "tests/fuzz/corpus/$reader" >"$log" 2>&1 || status=$?
  input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
  if ((status == timed_out)) && run_reader "$reader" "$input" >>"$log" 2>&1; then
    rm -- "$input"
    status=0 result="no finding, but stopped early by an input that took over 5 s, though not when repeated"
  elif ((status)); then
    result="FINDING, see $log"
    describe "$reader" "$status" "$log" "$input" >>"$folder/findings.txt"
  fi
  printf '%-12s %10s inputs %6s MB  %s\n' "$reader" "$(stat_of number_of_executed_units "$log")" \
    "$(stat_of peak_rss_mb "$log")" "$result"
  return $((status != 0))
}

# describe READER STATUS LOG INPUT: in one write, because several readers may end at once
describe() {
  local text
  text=$(sed -n 's/.*\(ERROR: \|runtime error: \|SUMMARY: \)/         \1/p' "$3")
  if [[ -f "$4" ]]; then text+=$'\n'"         input: $(base64 -w 0 -- "$4")"; fi
  printf '         %s: exit status %s\n%s\n' "$1" "$2" "$text"
}

stat_of() { sed -n "s/^stat::$1: *//p" "$2"; }

# AddressSanitizer quarantines freed memory; a small quarantine is enough for one input.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=8
export LSAN_OPTIONS=suppressions=$PWD/scripts/fuzz.supp:print_suppressions=0
findings=0 fuzzers=()
for reader in "${readers[@]}"; do
  while (($(jobs -rp | wc -l) >= $(cores))); do sleep 0.2; done
  fuzz "$reader" &
  fuzzers+=($!)
done
for fuzzer in "${fuzzers[@]}"; do wait "$fuzzer" || findings=$((findings + 1)); done
((findings == 0))
