#!/usr/bin/env bash
# Kills runs of all optimizers, some of them in sweeps or over MPI ranks, resumes them, and compares every bit of their
# results, except times, with those of undisturbed runs. Usage: scripts/torture.sh [KILLS] [SEED] (default: 1000 1).
# Builds the program with the preset release unless ONEBIT_PROGRAM names one. Works in a folder under TMPDIR and keeps
# it if something is wrong. docs/promises.md says what is promised.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

kills=${1:-1000} seed=${2:-1}
[[ "$kills" =~ ^[1-9][0-9]*$ && "$seed" =~ ^[0-9]+$ ]] || fail "usage: scripts/torture.sh [KILLS] [SEED]"
program=${ONEBIT_PROGRAM:-build/release/experiments/onebit}
if [[ -z "${ONEBIT_PROGRAM:-}" ]]; then
  say "building the program"
  quietly build/torture/configure.log cmake --preset release
  quietly build/torture/build.log cmake --build --preset release --parallel "$(cores)" --target onebit_program
fi
mkdir -p build/torture
"${CXX:-c++}" -std=c++20 -O1 -shared -fPIC tests/faults/inject.cpp -o build/torture/inject.so -ldl
folder=$(mktemp -d)
say "killing in $folder"
python3=python3
"$python3" -c 'import h5py' 2>/dev/null || python3=/usr/bin/python3
"$python3" scripts/faults/torture.py "$program" build/torture/inject.so "$folder" --kills "$kills" --seed "$seed"
rm -rf "$folder"
