#!/usr/bin/env bash
# Checks the CUDA backend on a machine that has a GPU, its driver, cuBLAS and python3, but no build tools.
#   scripts/gpu-check.sh bundle [DIR]  on a machine with build tools: builds, and fills DIR (gpu-check) with all that "run" needs
#   scripts/gpu-check.sh run [DIR [PART...]]  on the GPU machine: tests, sanitizers and timings, or only the given parts;
#                                      prints a table, and writes gpu-check.json and gpu-check.log to $OUT or the
#                                      current folder
#   scripts/gpu-check.sh limits        prints the parts of "run" in their order, with their limits in seconds
# "bundle" reads the variables CUDACXX (nvcc; the GPU machine's driver must support its major version),
# CMAKE_CUDA_ARCHITECTURES (90-real), ONEBIT_SHARED (../shared) and ONEBIT_CUDA. With ONEBIT_CUDA=EMULATED, "run" needs
# no GPU: this tests the script itself. Exit status of "run": 0 if all is well, 1 if a part failed or reached its
# limit (the others still ran), 2 if there is no GPU.
set -euo pipefail
out=$(realpath -m -- "${OUT:-.}")
given=${2:+$(realpath -m -- "$2")}
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
# shellcheck source=scripts/gpu-bundle.sh
. scripts/gpu-bundle.sh
# shellcheck source=scripts/gpu-parts.sh
. scripts/gpu-parts.sh

deadline=540 # seconds: the sum of the limits of `parts`

# The parts, with their limits in seconds.
parts=(gpu:5 libraries:5 devices:15 test_device:40 memcheck:60 synccheck:40 initcheck:40 racecheck:60
  test_compress:40 test_optim:25 test_sim:60 kernels:15 kernels-int8:8 kernels-qsgd:8 kernels-top-k:8
  same-runs:8 same-graphs-mlp:8 same-graphs-bert-nano:10 step-mlp-64:8 step-mlp-256:8 step-mlp-4096:12
  step-mlp-64-no-graphs:8 step-bert-nano-64:8 step-bert-base-8:25 scaling:12)
# Parts that run after the others, each only if the time that is left is at least its limit.
extras=(same-graphs-resnet20:15 step-mlp-64-two-devices:10 step-bert-nano-64-no-graphs:10 step-resnet20-16:15
  step-bert-base-128:60 step-bert-large-32:60 peers:120)

limits() {
  local part sum=0
  for part in "${parts[@]}"; do
    printf '%-28s %4d\n' "${part%:*}" "${part#*:}"
    sum=$((sum + ${part#*:}))
  done
  printf '%-28s %4d of %d\n' "all of these" "$sum" "$deadline"
  for part in "${extras[@]}"; do printf '%-28s %4d, if that much is left\n' "${part%:*}" "${part#*:}"; done
  ((sum <= deadline)) || fail "the limits add up to $sum seconds, more than $deadline"
}

# row RESULT DETAIL: adds the current part to the table
row() {
  local took=$((SECONDS - started))
  printf '%s\t%s\t%s\n' "$part" "$1" "${2//$'\t'/ }${2:+; }$took s" >>"$work/parts.tsv"
  say "$part: $1${2:+, $2}; $took s of $limit"
  case "$1" in
    FAILED) failures=$((failures + 1)) ;;
    CUT) cut=$((cut + 1)) ;;
    "not run") idle=$((idle + 1)) ;;
  esac
}

# run_part NAME:LIMIT. GPU_CHECK_LIMIT (NAME:LIMIT) changes one limit, for tests of this script.
run_part() {
  local left=$((deadline - SECONDS))
  part=${1%:*} limit=${1#*:} started=$SECONDS
  if [[ "${GPU_CHECK_LIMIT:-}" == "$part":* ]]; then limit=${GPU_CHECK_LIMIT#*:}; fi
  if ((limit > left)); then
    row CUT "needs up to $limit s, but only $left s are left"
  else
    "part_${part%%[-_]*}"
  fi
}

# choose PART...: keeps only these parts, in the given order.
choose() {
  local name one found
  local -a chosen=()
  for name in "$@"; do
    found=
    for one in "${parts[@]}" "${extras[@]}"; do
      if [[ ${one%:*} == "$name" ]]; then found=$one; fi
    done
    [[ -n "$found" ]] || fail "no part $name; scripts/gpu-check.sh limits lists the parts"
    chosen+=("$found")
  done
  parts=("${chosen[@]}") extras=()
}

run_all() {
  local one left
  for one in "${parts[@]}"; do run_part "$one"; done
  for one in "${extras[@]}"; do
    left=$((deadline - SECONDS))
    if ((${one#*:} <= left)); then
      run_part "$one"
    else
      part=${one%:*} limit=${one#*:} started=$SECONDS
      row "not run" "needs up to $limit s, but only $left s are left"
    fi
  done
}

# Reads the GPU's name and driver, which nvidia-smi lists.
find_gpu() {
  if [[ "$kind" == emulated ]]; then
    gpu="emulated GPU, none"
  else
    gpu=$(timeout 30 nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed -n 1p) || gpu=
  fi
  if [[ -z "$gpu" ]]; then
    echo "gpu-check.sh: no GPU: nvidia-smi lists none"
    exit 2
  fi
}

run() {
  local gpu
  if (($# > 1)); then choose "${@:2}"; fi
  [[ -f $1/KIND ]] || fail "no bundle in $1: make one with scripts/gpu-check.sh bundle"
  cd -- "$1"
  find bin lib -name '*.gz' -exec gunzip -- {} +
  kind=$(cat KIND)
  find_gpu
  limits >/dev/null
  work=$(mktemp -d) failures=0 cut=0 idle=0 SECONDS=0
  trap 'rm -rf -- "$work"' EXIT
  printf '%s\t%s\n' gpu "${gpu%,*}" driver "${gpu##*, }" built_for "$kind" date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
    commit "$(cat COMMIT)" >"$work/facts.tsv"
  set_environment
  run_all

  mkdir -p -- "$out"
  (cd -- "$work" && tail -n +1 -- *.log *.err) >"$out/gpu-check.log"
  printf '\n'
  python3 scripts/gpu-report.py "$work" "$out/gpu-check.json"
  printf '%s\n' "$failures parts failed, $cut were cut, $idle did not run, in $SECONDS s; details: $out/gpu-check.json, $out/gpu-check.log"
  ((failures + cut == 0))
}

case "$#:${1:-}" in
  1:bundle | 2:bundle | *:run | 1:limits) ;;
  *) fail "usage: scripts/gpu-check.sh bundle [DIR], run [DIR [PART...]], or limits" ;;
esac
usual="gpu-check"
if [[ -f COMMIT ]]; then usual=$PWD; fi # this script is part of a bundle
"$1" "${given:-$usual}" "${@:3}"
