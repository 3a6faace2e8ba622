#!/usr/bin/env bash
# From a fresh clone to a first comparison: installs packages, then builds and runs the program. Arguments are passed
# to the program.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

cpu_minutes=17 # CPU time of the release build, with nvcc

say "installing packages where they are missing"
ensure_packages "${build_packages[@]}"
check_cmake

say "building (about $(((cpu_minutes + $(cores) - 1) / $(cores))) minutes on $(cores) cores)"
quietly build/quickstart-configure.log cmake --preset release --fresh # --fresh ignores an old cache
build=(cmake --build --preset release --parallel "$(cores)")
if [[ -t 1 ]]; then "${build[@]}"; else quietly build/quickstart-build.log "${build[@]}"; fi

say "running: onebit compare --preset quickstart"
exec build/release/experiments/onebit compare --preset quickstart -o out/quickstart --overwrite "$@"
