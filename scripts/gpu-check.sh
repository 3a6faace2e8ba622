#!/usr/bin/env bash
# Checks the CUDA backend on a machine that has a GPU, its driver, CUDA's run-time libraries and python3, but no build
# tools. It has two halves:
#   scripts/gpu-check.sh bundle [DIR]  on a machine with build tools: builds, and fills DIR (gpu-check) with all that "run" needs
#   scripts/gpu-check.sh run [DIR]     on the GPU machine: tests, sanitizers and timings; prints a table, and writes
#                                      gpu-check.json and gpu-check.log to $OUT or the current folder
# "bundle" reads the variables CMAKE_CUDA_ARCHITECTURES (90) and ONEBIT_SHARED (../shared). Exit status of "run": 0 if
# all is well, 1 if a part failed (the others still ran), 2 if there is no GPU.
set -euo pipefail
out=$(realpath -m -- "${OUT:-.}")
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

programs=(test_device test_compress test_optim test_sim)
max_mib=48 # leaves room for the sources in one transfer
deadline=460 # seconds: every part stops by then

# ---- bundle

build_for_gpu() {
  say "building for CUDA architecture ${CMAKE_CUDA_ARCHITECTURES:-90}"
  quietly build/gpu/configure.log cmake -S . -B build/gpu -G Ninja --fresh -DCMAKE_BUILD_TYPE=Release \
    -DONEBIT_NATIVE=OFF -DONEBIT_CUDA=ON -DONEBIT_TESTS=ON \
    -DCMAKE_CUDA_ARCHITECTURES="${CMAKE_CUDA_ARCHITECTURES:-90}"
  quietly build/gpu/build.log cmake --build build/gpu --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(cores)}" \
    --target onebit_program "${programs[@]}"
}

# Prints the libraries that ldd names for the given programs, without those of glibc, which work only with their own
# loader, and those of CUDA, which work only with their driver and are huge.
libraries_of() {
  local glibc='ld-linux[^/]*|lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|nsl|nss_[^/]*)'
  local cuda='lib(cuda[^/]*|cublas[^/]*|nv[^/]*|nccl)'
  ldd -- "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -v -E "/($glibc|$cuda)\.so[^/]*$"
}

bundle() {
  local dir=$1 shared=${ONEBIT_SHARED:-../shared} program bytes
  local -a libraries=()
  check_cmake
  build_for_gpu
  say "filling $dir"
  [[ ! -e $dir || -f $dir/COMMIT ]] || fail "$dir exists but is not a bundle: not touching it"
  rm -rf -- "$dir"
  mkdir -p -- "$dir"/{bin,lib,scripts,shared/data}
  for program in "${programs[@]}"; do cp -- "build/gpu/tests/${program#test_}/$program" "$dir/bin/"; done
  cp -r -- build/gpu/experiments/onebit build/gpu/experiments/presets "$dir/bin/"
  mapfile -t libraries < <(libraries_of "$dir"/bin/onebit "$dir"/bin/test_*)
  ((${#libraries[@]})) || fail "ldd names no libraries for $dir/bin, which cannot be right"
  cp -L -- "${libraries[@]}" "$dir/lib/"
  strip -- "$dir"/bin/onebit "$dir"/bin/test_* "$dir"/lib/*
  cp -r -- "$shared/golden" "$dir/shared/"
  cp -r -- "$shared/data/mnist" "$shared/data/text" "$dir/shared/data/"
  git ls-files -z docs 'tests/optim/*.hpp' | xargs -0 cp --parents -t "$dir" -- # read by tests
  cp -- scripts/{gpu-check.sh,gpu-report.py,count-tests,lib.sh} "$dir/scripts/"
  chmod -R u+w -- "$dir"
  git describe --always --dirty --abbrev=12 >"$dir/COMMIT"
  bytes=$(du -sb -- "$dir" | cut -f 1)
  ((bytes < max_mib << 20)) || fail "$dir has $((bytes >> 20)) MiB, more than $max_mib"
  say "$dir: $((bytes >> 20)) MiB; on the GPU machine: scripts/gpu-check.sh run $dir"
}

# ---- run

# Prints the folders of CUDA's run-time libraries: the toolkit's, then those of python3's packages, which PyTorch installs.
cuda_folders() {
  printf '%s\n' /usr/local/cuda/lib64
  python3 -c 'import nvidia, pathlib
print(*(lib for package in nvidia.__path__ for lib in sorted(pathlib.Path(package).glob("*/lib"))), sep="\n")' \
    2>/dev/null || true
}

# row PART RESULT DETAIL: adds a row to the table
row() {
  printf '%s\t%s\t%s\n' "$1" "$2" "${3//$'\t'/ }" >>"$work/parts.tsv"
  say "$1: $2${3:+, $3}"
  if [[ "$2" == FAILED ]]; then failures=$((failures + 1)); fi
}

# attempt PART SECONDS COMMAND...: writes the output to PART.log and PART.err; returns the status, 124 if it took too long
attempt() {
  local part=$1 limit=$2 left=$((deadline - SECONDS))
  shift 2
  if ((left < limit)); then limit=$left; fi
  if ((limit < 1)); then limit=1; fi
  timeout -k 5 "$limit" "$@" >"$work/$part.log" 2>"$work/$part.err" </dev/null
}

# why PART STATUS: prints the reason of a failure in one line
why() {
  local line
  line=$(cat -- "$work/$1.err" "$work/$1.log" | grep -v '^[[:space:]=]*$' | tail -n 1 | cut -c 1-160) || true
  if (($2 == 124 || $2 == 137)); then line="time limit reached; $line"; fi
  printf '%s (status %d)' "${line:-no output}" "$2"
}

check_device() {
  local missing status=0
  missing=$("${on_gpu[@]}" ldd bin/onebit | awk '/not found/ { print $1 }' | sort -u | tr '\n' ' ') || true
  if [[ -n "$missing" ]]; then row libraries FAILED "not found: $missing"; fi
  attempt devices 30 "${on_gpu[@]}" bin/onebit list devices || status=$?
  if ((status == 0)) && grep -q "cuda:0" "$work/devices.log"; then
    row devices passed "$(awk '/cuda:0/ { $1 = $1; print; exit }' "$work/devices.log")"
  else
    row devices FAILED "onebit lists no cuda:0: $(why devices "$status")"
  fi
}

has_cuda_tests() { "${on_gpu[@]}" "bin/$1" --list-tags 2>/dev/null | grep '\[cuda\]' >/dev/null; }

# tests PROGRAM: runs the test cases tagged [cuda], or all if none is
tests() {
  local program=$1 name=$1 status=0 counts p f s
  local -a filter=()
  if has_cuda_tests "$program"; then filter=("[cuda]") name="$program [cuda]"; fi
  attempt "$program" 75 "${on_gpu[@]}" OMP_WAIT_POLICY=passive "bin/$program" "${filter[@]}" || status=$?
  read -r p f s < <(scripts/count-tests "$work/$program.log") || true
  counts="${p:-0} passed, ${f:-1} failed, ${s:-0} skipped"
  if ((status || ${f:-1} || ${p:-0} == 0)); then
    row "$name" FAILED "$counts: $(why "$program" "$status")"
  else
    row "$name" passed "$counts"
  fi
}

# sanitizer TOOL: checks test_device, without the tests of the debug device, which make errors on purpose
sanitizer() {
  local tool=$1 status=0 program errors
  local -a filter=("~debug*")
  program=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) || true
  if [[ -z "$program" ]]; then
    row "$tool" "not run" "compute-sanitizer is not installed"
    return 0
  fi
  if has_cuda_tests test_device; then filter=("[cuda]" "${filter[@]}"); fi
  attempt "$tool" 75 "${on_gpu[@]}" "$program" --tool "$tool" --error-exitcode 99 bin/test_device "${filter[@]}" ||
    status=$?
  errors=$(sed -n 's/^=* *\(ERROR\|RACECHECK\) SUMMARY: *\([0-9]*\).*/\2/p' "$work/$tool.log" | tail -n 1)
  if grep -q -i "not supported" "$work/$tool.log" || [[ -z "$errors" ]]; then
    row "$tool" "not run" "$(why "$tool" "$status")"
  elif ((errors || status)); then
    row "$tool" FAILED "$errors found; $(why "$tool" "$status")"
  else
    row "$tool" passed "0 found"
  fi
}

# figures PART SECONDS COMMAND...: runs a COMMAND that prints JSON
figures() {
  local part=$1 status=0
  attempt "$@" || status=$?
  if ((status == 0)) && python3 -m json.tool "$work/$part.log" >/dev/null 2>&1; then
    row "$part" measured ""
  else
    row "$part" FAILED "$(why "$part" "$status")"
  fi
}

# Times the kernels of a step with 1-bit Adam's codec, and with one codec of each other kind: integers in blocks, random
# levels, largest elements.
kernels() {
  local codec
  figures kernels 60 "${on_gpu[@]}" bin/onebit bench kernels --devices cuda --json
  for codec in int8 qsgd top-k; do
    figures "kernels-$codec" 20 "${on_gpu[@]}" bin/onebit bench kernels --codec "$codec" --rounds 3 --devices cuda --json
  done
}

# step NAME SECONDS DEVICES OPTIONS...: times a step of 1-bit Adam's compression stage and its floor
step() {
  local name=$1 limit=$2 devices=$3
  shift 3
  figures "step-$name" "$limit" "${on_gpu[@]}" bin/onebit bench step --optimizer onebit-adam --devices "$devices" \
    --json "$@"
}

steps() {
  local -a mlp=(--model mlp --model.layers "784,256,256,10" --batch 16 --data synthetic --data.features 784)
  local -a text=(--data text --data.path shared/data/text/tinyshakespeare.txt)
  step mlp-64 30 cuda "${mlp[@]}" --workers 64
  step mlp-256 30 cuda "${mlp[@]}" --workers 256
  step mlp-4096 45 cuda "${mlp[@]}" --workers 4096 --rounds 10
  step mlp-64-two-devices 30 cuda:0,0 "${mlp[@]}" --workers 64
  step mlp-64-no-graphs 30 cuda "${mlp[@]}" --workers 64 --graphs false
  step bert-nano-64 30 cuda --model bert-nano "${text[@]}" --workers 64 --batch 4
  step bert-nano-64-no-graphs 30 cuda --model bert-nano "${text[@]}" --workers 64 --batch 4 --graphs false
  step resnet20-16 30 cuda --model resnet20 --workers 16 --batch 16 --data synthetic
  step bert-base-8 45 cuda --model bert-base "${text[@]}" --workers 8 --batch 2 --rounds 5
  step bert-base-128 60 cuda --model bert-base "${text[@]}" --workers 128 --batch 1 --rounds 3
  step bert-large-32 60 cuda --model bert-large "${text[@]}" --workers 32 --batch 1 --rounds 3
}

# same NAME GRAPHS OPTIONS...: checks that two runs, the second with --graphs GRAPHS, give the same weights
same() {
  local name=$1 graphs=true turn status=0
  local -a options=("${@:3}")
  for turn in 1 2; do
    attempt "same-$turn" 30 "${on_gpu[@]}" bin/onebit run "${options[@]}" --optimizer onebit-adam --devices cuda \
      --graphs "$graphs" -o "$work/same.h5" --overwrite --weights-out "$work/weights-$turn.h5" || status=$?
    graphs=$2
  done
  if ((status)); then
    row "$name" FAILED "$(why same-2 "$status")"
  elif cmp -s -- "$work/weights-1.h5" "$work/weights-2.h5"; then
    row "$name" passed "the same weights"
  else
    row "$name" FAILED "the weights differ"
  fi
  rm -f -- "$work"/weights-?.h5
}

repeat() {
  local -a mlp=(--model mlp --data synthetic --steps 100 --workers 64 --freeze fixed:20)
  local -a text=(--data text --data.path shared/data/text/tinyshakespeare.txt --steps 20 --workers 8 --freeze fixed:10)
  same "two runs" true "${mlp[@]}"
  same "graphs, mlp" false "${mlp[@]}"
  same "graphs, bert-nano" false --model bert-nano --model.dropout 0.1 "${text[@]}"
  same "graphs, resnet20" false --model resnet20 --data synthetic --data.image 3x32x32 --steps 20 --workers 8 --freeze fixed:10
}

peers() {
  if ! python3 -c 'import torch' 2>/dev/null; then
    row peers "not run" "python3 has no torch"
    return 0
  fi
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec "%s" "$@"\n' "$library_path" "$PWD/bin/onebit" >"$work/onebit"
  chmod +x -- "$work/onebit"
  figures peers 120 python3 docs/benchmarks/peers.py "$work/onebit" --device cuda --variants loop,vmap --rounds 3 --json
}

run() {
  local gpu tool program library_path
  gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed -n 1p) || gpu=
  if [[ -z "$gpu" ]]; then
    echo "gpu-check.sh: no GPU: nvidia-smi lists none"
    exit 2
  fi
  [[ -x $1/bin/onebit ]] || fail "no bundle in $1: make one with scripts/gpu-check.sh bundle"
  cd -- "$1"
  work=$(mktemp -d) failures=0
  trap 'rm -rf -- "$work"' EXIT
  printf '%s\t%s\n' gpu "${gpu%,*}" driver "${gpu##*, }" date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
    commit "$(cat COMMIT)" >"$work/facts.tsv"

  library_path=$PWD/lib:$(cuda_folders | paste -s -d :)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  # Not for python3, whose packages have their own libraries. A test that finds no GPU must fail.
  on_gpu=(env "LD_LIBRARY_PATH=$library_path" "ONEBIT_SHARED=$PWD/shared" "ONEBIT_SOURCE_DIR=$PWD" ONEBIT_REQUIRE=cuda)
  check_device
  for program in "${programs[@]}"; do tests "$program"; done
  kernels
  repeat
  steps
  figures bench-scaling 40 "${on_gpu[@]}" bin/onebit bench scaling --model mlp --model.layers 784,256,256,10 \
    --data synthetic --data.features 784 --optimizer onebit-adam --devices cuda --json
  peers
  for tool in memcheck racecheck; do sanitizer "$tool"; done

  mkdir -p -- "$out"
  (cd -- "$work" && tail -n +1 -- *.log *.err) >"$out/gpu-check.log"
  printf '\n'
  python3 scripts/gpu-report.py "$work" "$out/gpu-check.json"
  printf '%s\n' "$failures parts failed; details: $out/gpu-check.json, $out/gpu-check.log"
  ((failures == 0))
}

case "$#:${1:-}" in
  1:bundle | 2:bundle | 1:run | 2:run) ;;
  *) fail "usage: scripts/gpu-check.sh bundle|run [DIR]" ;;
esac
folder="gpu-check"
if [[ -f COMMIT ]]; then folder=$PWD; fi # this script is part of a bundle
"$1" "${2:-$folder}"
