#!/usr/bin/env bash
# Tests scripts/gpu-check.sh with programs that only say what they were asked to do. Prints what is wrong; the exit
# status is the number of failed checks.
set -euo pipefail
source=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/..")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
bundle=$work/bundle wrong=0
export CALLS=$work/calls OUT=$work/out LD_LIBRARY_PATH=$work/cuda PATH=$work/path:$PATH

# program FILE: makes FILE from standard input
program() {
  { echo '#!/bin/sh' && cat; } >"$1"
  chmod +x -- "$1"
}

make_machine() {
  mkdir -p -- "$bundle"/{bin,lib,filters,scripts} "$work"/{cuda,path}
  cp -- "$source"/scripts/{gpu-check.sh,gpu-bundle.sh,gpu-parts.sh,gpu-report.py,count-tests,lib.sh,lsan.supp} "$bundle/scripts/"
  echo abc >"$bundle/COMMIT"
  echo "CUDA 13.0" >"$bundle/KIND"
  touch -- "$work/cuda/libcublas.so.12"
  program "$work/path/nvidia-smi" <<<'case "$*" in *query-gpu*) echo "A GPU, 580.1" ;; *) echo "| CUDA Version: 13.0 |" ;; esac'
  program "$work/path/compute-sanitizer" <<'END'
echo "$2" >>"$CALLS"
while [ "$1" != bin/test_device ]; do shift; done
"$@" && echo "========= ERROR SUMMARY: ${ERRORS:-0} errors"
END
  program "$bundle/bin/onebit" <<'END'
figures='{}'
while [ $# -gt 0 ]; do
  case "$1" in
    list) echo "cuda:0 A GPU" ;;
    scaling) figures='{"rows": [{"workers": 4, "step_seconds": 0.002}]}' ;;
    --json) echo "$figures" ;;
    --weights-out) echo weights >"$2" ;;
  esac
  shift
done
END
  echo "[#launch_test],[#lanes_test]" >"$bundle/filters/racecheck"
  for name in test_device test_compress test_optim test_sim; do
    echo "[#$name]" >"$bundle/filters/$name"
    program "$bundle/bin/$name" <<'END'
echo "$(basename "$0") $ONEBIT_TEST_BACKENDS $*" >>"$CALLS"
if [ "$(basename "$0")" = "$SLOW" ]; then echo "0.1 s: the test before" && sleep 60; fi
echo "All tests passed (1 assertion in 1 test case)"
END
  done
}

# check NAME EXPECTED FOUND
check() {
  [[ "$2" == "$3" ]] && return 0
  printf 'wrong: %s\nexpected: %s\nfound: %s\n' "$@"
  wrong=$((wrong + 1))
}

# run [VARIABLE=VALUE...] [-- PART...]: runs the bundle's script, sets `status` and `text`.
run() {
  local -a variables=()
  while (($#)) && [[ "$1" != -- ]]; do variables+=("$1") && shift; done
  status=0
  rm -f -- "$CALLS"
  text=$(SLOW="" env "${variables[@]}" "$bundle/scripts/gpu-check.sh" run "$bundle" "${@:2}" 2>&1) || status=$?
}

names() { "$source/scripts/gpu-check.sh" limits | grep -v '^all' | cut -d ' ' -f 1 | paste -s -d ' '; }
# rows RESULT: the parts with this result
rows() { sed -n "s/^== \([^:]*\): $1[^a-z].*/\1/p" <<<"$text" | paste -s -d ' '; }

make_machine
gzip -- "$bundle/bin/test_sim" # as in a bundle
check "limits that fit the deadline" "536 of 540" "$("$source/scripts/gpu-check.sh" limits | sed -n 's/all of these *//p')"

run
check "status" 0 "$status"
check "order of the parts" "$(names)" "$(sed -n 's/^== \([^:]*\): .*/\1/p' <<<"$text" | paste -s -d ' ')"
check "what does not run" "peers" "$(rows 'not run')"
check "what the programs were asked" "$(printf '%s\n' \
  "test_device cuda --filenames-as-tags --durations yes [#test_device]" memcheck \
  "test_device cuda --filenames-as-tags --durations yes [#test_device]" synccheck \
  "test_device cuda --filenames-as-tags --durations yes [#test_device]" initcheck \
  "test_device cuda --filenames-as-tags --durations yes [#test_device]" racecheck \
  "test_device cuda --filenames-as-tags --durations yes [#launch_test],[#lanes_test]" \
  "test_compress cuda --filenames-as-tags --durations yes [#test_compress]" \
  "test_optim cuda --filenames-as-tags --durations yes [#test_optim]" \
  "test_sim cuda --filenames-as-tags --durations yes [#test_sim]")" "$(cat -- "$CALLS")"
check "results on file" "$(names)" "$(python3 -c 'import json, sys
print(*(part["part"] for part in json.load(open(sys.argv[1]))["parts"]))' "$OUT/gpu-check.json")"

check "figures in the table" "4 workers step 2.000 ms" "$(sed -n 's/  */ /g; s/^scaling \(4.*\)/\1/p' <<<"$text")"

run GPU_CHECK_LIMIT=test_compress:1 SLOW=test_compress
check "status after a cut" 1 "$status"
check "parts that were cut" test_compress "$(rows CUT)"
check "words of a cut" "after 1 s; last: 0.1 s: the test before" \
  "$(sed -n 's/^== test_compress: CUT, \(.*\); [0-9]* s of 1$/\1/p' <<<"$text")"
check "parts that failed" "" "$(rows FAILED)"

run ERRORS=2
check "status after errors" 1 "$status"
check "sanitizers that found errors" "memcheck synccheck initcheck racecheck" "$(rows FAILED)"

run -- peers test_optim
check "status of two parts" 0 "$status"
check "the parts that were asked for" "test_optim" "$(rows passed)"
check "what they asked" "test_optim cuda --filenames-as-tags --durations yes [#test_optim]" "$(cat -- "$CALLS")"

run -- test_opt
check "status of an unknown part" 1 "$status"
check "words of an unknown part" "no part test_opt; scripts/gpu-check.sh limits lists the parts" "${text##*: }"

program "$work/path/nvidia-smi" <<<'exit 9'
run
check "status without a GPU" 2 "$status"
exit "$wrong"
