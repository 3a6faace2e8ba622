# shellcheck shell=bash
# The parts of "gpu-check.sh run". part_X runs the parts named X, X-... and X_...; it reads the name and the limit from
# `part` and `limit`, and adds one row to the table.
# shellcheck disable=SC2154 # gpu-check.sh sets these variables

# Prints the folders of CUDA's run-time libraries: the toolkit's, then those of python3's packages, which PyTorch installs.
cuda_folders() {
  printf '%s\n' /usr/local/cuda/lib64
  python3 -c 'import nvidia, pathlib
print(*(lib for package in nvidia.__path__ for lib in sorted(pathlib.Path(package).glob("*/lib"))), sep="\n")' \
    2>/dev/null || true
}

# Sets on_gpu, which begins every command line of the bundle's programs: their tests must fail if they find no GPU.
# python3 runs without it, because its packages have their own libraries.
set_environment() {
  library_path=$PWD/lib:$(cuda_folders | paste -s -d :)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  on_gpu=(env "LD_LIBRARY_PATH=$library_path" "ONEBIT_SHARED=$PWD/shared" "ONEBIT_SOURCE_DIR=$PWD" ONEBIT_REQUIRE=cuda
    ONEBIT_TEST_BACKENDS=cuda OMP_WAIT_POLICY=passive
    "LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0") # used only where GPUs are emulated
}

# attempt NAME COMMAND...: writes the output to NAME.log and NAME.err; returns the status, 124 if the part's limit is
# reached
attempt() {
  local name=$1 left=$((limit - (SECONDS - started)))
  shift
  if ((left < 1)); then left=1; fi
  timeout -k 1 "$left" "$@" >"$work/$name.log" 2>"$work/$name.err" </dev/null
}

# was_cut STATUS: whether the time limit ended a command
was_cut() { (($1 == 124 || $1 == 137)); }

# why NAME STATUS: prints the reason for a failure in one line
why() {
  local line
  line=$(cat -- "$work/$1.err" "$work/$1.log" | grep -v '^[[:space:]=]*$' | tail -n 1 | cut -c 1-160) || true
  printf '%s (status %d)' "${line:-no output}" "$2"
}

# last_test NAME STATUS: prints the last test that a program finished before it was cut, or the end of its output
last_test() {
  local line
  line=$(grep -E '^[0-9.]+ s: ' -- "$work/$1.log" | tail -n 1 | cut -c 1-160) || true
  printf '%s' "${line:-$(why "$1" "$2")}"
}

# failed NAME STATUS [DETAIL]: adds a row for a command that failed or was cut
failed() {
  if was_cut "$2"; then
    row CUT "after $limit s; last: $(last_test "$1" "$2")"
  else
    row FAILED "${3:+$3: }$(why "$1" "$2")"
  fi
}

part_gpu() {
  local status=0
  if [[ "$kind" == emulated ]]; then
    row passed "emulated"
    return 0
  fi
  attempt gpu nvidia-smi || status=$?
  if ((status)); then failed gpu "$status"; else row passed "$(sed -n 's/.*\(CUDA Version: *[0-9.]*\).*/\1/p' "$work/gpu.log")"; fi
}

# Prints the path of the cuBLAS that the programs would find first, or nothing.
find_cublas() {
  local major folder known
  known=$(ldconfig -p 2>/dev/null | sed -n 's/.* => //p') || true
  for major in 13 12; do
    while read -r -d : folder; do printf '%s\n' "$folder/libcublas.so.$major"; done <<<"$library_path:"
    grep "/libcublas\.so\.$major\$" <<<"$known" || true
  done | while read -r file; do [[ ! -e $file ]] || printf '%s\n' "$file"; done | sed -n 1p
}

part_libraries() {
  local missing cublas="not needed"
  if ! command -v ldd >/dev/null; then
    row "not run" "ldd is not installed"
    return 0
  fi
  missing=$("${on_gpu[@]}" ldd bin/onebit bin/test_* 2>/dev/null | awk '/not found/ { print $1 }' | sort -u | tr '\n' ' ') || true
  if [[ "$kind" != emulated ]]; then
    cublas=$(find_cublas)
    if [[ -z "$cublas" ]]; then missing+="libcublas.so.13 or libcublas.so.12"; fi
  fi
  if [[ -n "$missing" ]]; then row FAILED "not found: $missing"; else row passed "cuBLAS: $cublas"; fi
}

part_devices() {
  local status=0
  attempt devices "${on_gpu[@]}" bin/onebit list devices || status=$?
  if ((status == 0)) && grep -q "cuda:0" "$work/devices.log"; then
    row passed "$(awk '/cuda:0/ { $1 = $1; print; exit }' "$work/devices.log")"
  else
    failed devices "$status" "onebit lists no cuda:0"
  fi
}

# Catch2's arguments for the tests in the given files. Each test is named when it is done, so that the log of a program
# that was cut shows how far it got.
catch_options() { printf '%s\n' --filenames-as-tags --durations yes "$1"; }

# Runs the tests that use the GPU.
part_test() {
  local status=0 counts p f s
  local -a options=()
  mapfile -t options < <(catch_options "$(cat -- "filters/$part")")
  attempt "$part" "${on_gpu[@]}" "bin/$part" "${options[@]}" || status=$?
  read -r p f s < <(scripts/count-tests "$work/$part.log") || true
  counts="${p:-0} passed, ${f:-1} failed, ${s:-0} skipped"
  if ((status || ${f:-1} || ${p:-0} == 0)); then failed "$part" "$status" "$counts"; else row passed "$counts"; fi
}

# sanitizer FILTER: runs tests of test_device under the tool that the part is named after. An emulated GPU's programs are
# built with ASan and UBSan instead.
sanitizer() {
  local status=0 tool errors
  local -a options=() under=()
  if [[ "$kind" != emulated ]]; then
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) || true
    if [[ -z "$tool" ]]; then
      row "not run" "compute-sanitizer is not installed"
      return 0
    fi
    under=("$tool" --tool "$part" --error-exitcode 99)
    # Tests make calls fail on purpose, and check the errors themselves.
    if [[ "$part" == memcheck ]]; then under+=(--report-api-errors no); fi
  fi
  mapfile -t options < <(catch_options "$1")
  attempt "$part" "${on_gpu[@]}" "${under[@]}" bin/test_device "${options[@]}" || status=$?
  errors=$(sed -n 's/^=* *\(ERROR\|RACECHECK\) SUMMARY: *\([0-9]*\).*/\2/p' "$work/$part.log" | tail -n 1)
  if [[ -z "$errors" ]] && grep -q -i "^=* .*not supported" "$work/$part.log"; then
    row "not run" "$(why "$part" "$status")"
  elif ((status || ${errors:-0})); then
    failed "$part" "$status" "${errors:-no} errors found"
  elif [[ "$kind" == emulated ]]; then
    row passed "with ASan and UBSan instead"
  elif [[ -z "$errors" ]]; then
    row FAILED "no summary: $(why "$part" "$status")"
  else
    row passed "0 errors found"
  fi
}

part_memcheck() { sanitizer "$(cat filters/test_device)"; }
part_synccheck() { sanitizer "$(cat filters/test_device)"; }
part_initcheck() { sanitizer "$(cat filters/test_device)"; }
part_racecheck() { sanitizer "$(cat filters/racecheck)"; }

# figures COMMAND...: runs a COMMAND that prints JSON
figures() {
  local status=0
  attempt "$part" "$@" || status=$?
  if ((status == 0)) && python3 -m json.tool "$work/$part.log" >/dev/null 2>&1; then
    row measured ""
  else
    failed "$part" "$status"
  fi
}

# Times the kernels of a step with 1-bit Adam's codec, and with one codec of each other kind: integers in blocks, random
# levels, and largest elements.
part_kernels() {
  local -a options=()
  if [[ "$part" != kernels ]]; then options=(--codec "${part#kernels-}" --rounds 3); fi
  if [[ "$kind" == emulated ]]; then options+=(--elements 20000 --rounds 1); fi
  figures "${on_gpu[@]}" bin/onebit bench kernels "${options[@]}" --devices cuda --json
}

# Sets model: the options of the model in a part's name.
choose_model() {
  local -a text=(--data text --data.path shared/data/text/tinyshakespeare.txt)
  case "$part" in
    *mlp*) model=(--model mlp --model.layers "784,256,256,10" --batch 16 --data synthetic --data.features 784) ;;
    *bert-nano*) model=(--model bert-nano "${text[@]}") ;;
    *bert-base*) model=(--model bert-base "${text[@]}") ;;
    *bert-large*) model=(--model bert-large "${text[@]}") ;;
    *resnet20*) model=(--model resnet20 --data synthetic --data.image 3x32x32) ;;
  esac
}

# Times a step of 1-bit Adam's compression stage and its floor. Emulated GPUs get a tiny model.
part_step() {
  local devices=cuda
  local -a model=() options=()
  choose_model
  case "$part" in
    *mlp-64*) options=(--workers 64) ;;
    *mlp-256) options=(--workers 256) ;;
    *mlp-4096) options=(--workers 4096 --rounds 10) ;;
    *bert-nano-64*) options=(--workers 64 --batch 4) ;;
    *resnet20-16) options=(--workers 16 --batch 16) ;;
    *bert-base-8) options=(--workers 8 --batch 2 --rounds 5) ;;
    *bert-base-128) options=(--workers 128 --batch 1 --rounds 3) ;;
    *bert-large-32) options=(--workers 32 --batch 1 --rounds 3) ;;
  esac
  if [[ "$part" == *two-devices ]]; then devices=cuda:0,0; fi
  if [[ "$part" == *no-graphs ]]; then options+=(--graphs false); fi
  if [[ "$kind" == emulated ]]; then
    model=(--model mlp --model.layers "16,8,10" --data synthetic --data.features 16)
    options=(--workers 8 --batch 2 --rounds 1 --elements 10000)
  fi
  figures "${on_gpu[@]}" bin/onebit bench step --optimizer onebit-adam --devices "$devices" --json \
     "${model[@]}" "${options[@]}"
}

# Checks that two runs give the same weights; the second runs without graphs, unless the part is same-runs.
part_same() {
  local turn status=0 graphs=true
  local -a model=() length=(--steps 20 --workers 8 --freeze fixed:10)
  if [[ "$kind" == emulated && "$part" == *resnet20 ]]; then
    row "not run" "too large for an emulated GPU"
    return 0
  fi
  choose_model
  case "$part" in
    same-runs) model=(--model mlp --data synthetic) length=(--steps 100 --workers 64 --freeze fixed:20) ;;
    *bert*) model+=(--model.dropout 0.1) ;;
  esac
  if [[ "$kind" == emulated ]]; then
    length=(--steps 4 --workers 2 --freeze fixed:2 --batch 1 --eval.every 4 --eval.examples 1)
    case "$part" in
      *mlp | same-runs) model=(--model mlp --model.layers "16,8,10" --data synthetic --data.features 16) ;;
      *bert*) model+=(--model.context 8) ;;
    esac
  fi
  for turn in 1 2; do
    attempt "$part" "${on_gpu[@]}" bin/onebit run "${model[@]}" "${length[@]}" --optimizer onebit-adam --devices cuda \
      --graphs "$graphs" -o "$work/same.h5" --overwrite --weights-out "$work/weights-$turn.h5" || status=$?
    if ((status)); then break; fi
    if [[ "$part" != same-runs ]]; then graphs=false; fi
  done
  if ((status)); then
    failed "$part" "$status"
  elif cmp -s -- "$work/weights-1.h5" "$work/weights-2.h5"; then
    row passed "the same weights"
  else
    row FAILED "the weights differ"
  fi
  rm -f -- "$work"/weights-?.h5
}

part_scaling() {
  local -a options=(--model.layers "784,256,256,10" --data.features 784)
  if [[ "$kind" == emulated ]]; then
    options=(--model.layers "16,8,10" --data.features 16 --sweep "1,4" --global-batch 8 --rounds 1)
  fi
  figures "${on_gpu[@]}" bin/onebit bench scaling --model mlp --data synthetic --optimizer onebit-adam --devices cuda \
    --json "${options[@]}"
}

part_peers() {
  if [[ "$kind" == emulated ]] || ! python3 -c 'import torch' 2>/dev/null; then
    row "not run" "python3 has no torch, or the GPU is emulated"
    return 0
  fi
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec "%s" "$@"\n' "$library_path" "$PWD/bin/onebit" >"$work/onebit"
  chmod +x -- "$work/onebit"
  figures python3 docs/benchmarks/peers.py "$work/onebit" --device cuda --variants loop,vmap --rounds 3 --json
}
