#!/usr/bin/env bash
# jax_test.sh: runs the tests of the JAX worker with the program of the preset ci, in a venv with JAX. Needs PyPI.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

venv=build/jax
[[ -x $venv/bin/python3 ]] || quietly build/jax-venv.log python3 -m venv "$venv"
quietly build/jax-pip.log "$venv/bin/pip" install jax h5py pandas matplotlib
PATH=$PWD/$venv/bin:$PATH tests/python/run.sh "$PWD/build/ci/experiments/onebit" jax
