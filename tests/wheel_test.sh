#!/usr/bin/env bash
# wheel_test.sh: makes a wheel, installs it into an empty venv, runs six lines that end in a picture, where there is no
# compiler in PATH, and loads the library of the codecs. Then does the same with `pip install ./python`. Needs PyPI.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# picture VENV: runs the lines in a folder and an environment of their own
picture() {
  local folder=$work/$1-run
  mkdir -- "$folder"
  (cd -- "$folder" && env -i PATH=/nowhere HOME="$folder" MPLBACKEND=agg "$work/$1/bin/python" -W error -c '
import onebit
runs = onebit.compare(model="mlp", data="synthetic", steps=60, freeze="fixed:20", out="compared")
print(runs)
onebit.plot.loss(runs, x="bytes").figure.savefig("loss.png")')
  [[ -s $folder/loss.png ]] || fail "no picture"
  env -i "$work/$1/bin/onebit" list presets >"$folder/presets"
  grep -q onebit-adam-bert "$folder/presets" || fail "the presets are missing"
  (cd -- "$folder" && env -i "$work/$1/bin/python" -W error -c '
from onebit.torch import _library
print(_library._load(_library.find()))') # needs no torch
}

# bundled FOLDER: the libraries that programs and libraries in the folder need are in the folder too, except for those
# that the wheel's platform promises on every machine
bundled() {
  local folder file line
  folder=$(realpath -- "$1")
  local -a files
  mapfile -t files < <(find "$folder"/onebit{/program,.libs} -type f \( -perm -u+x -o -name '*.so*' \))
  ((${#files[@]} > 2)) || fail "no libraries in $folder"
  for file in "${files[@]}"; do
    while read -r line; do
      [[ $line == *" => $folder/"* ||
        $line =~ ^(linux-vdso|/lib64/ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|z|stdc\+\+|gcc_s))\.so ]] ||
        fail "$file needs a library that is not in the wheel: $line"
    done < <(ldd "$file")
  done
}

export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
scripts/wheel.sh --fast
say "installing the wheel into an empty venv"
python3 -m venv "$work/wheel"
quietly build/wheel-install.log "$work/wheel/bin/pip" install python/dist/onebit-*.whl
picture wheel
bundled "$(echo "$work"/wheel/lib/python3*/site-packages)"

say "installing the checkout into an empty venv"
python3 -m venv "$work/checkout"
quietly build/wheel-checkout.log "$work/checkout/bin/pip" install \
  -Ccmake.define.ONEBIT_{NATIVE=ON,WERROR=ON,CUDA=AUTO,JOIN_SOURCES=8} ./python
picture checkout
say "wheel_test: passed"
