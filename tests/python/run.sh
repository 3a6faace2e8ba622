#!/usr/bin/env bash
# run.sh PROGRAM TEST: runs test_TEST.py with the program; for the test `types`, mypy over the package.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

# skip CAPABILITY REASON: where ONEBIT_REQUIRE names the capability, this is a failure
skip() {
  if [[ ",${ONEBIT_REQUIRE:-}," == *",$1,"* ]]; then
    echo "ONEBIT_REQUIRE names $1, but: $2"
    exit 1
  fi
  printf '%s\n' "ONEBIT-SKIPPED: $2" "OK (skipped)" # what scripts/count-tests reads
  exit 0
}

if [[ $2 == types ]]; then
  command -v mypy >/dev/null || skip mypy "mypy is not installed"
  cd ../../python
  exec mypy --cache-dir "$(dirname -- "$1")/mypy"
fi

# Packages that the test imports, and where Python may have them.
packages=(h5py pandas matplotlib) pythons=(python3 /usr/bin/python3)
if [[ $2 == jax ]]; then
  venv=$PWD/../../build/jax # scripts/test.sh makes it
  packages=(jax h5py) pythons=("$venv/bin/python3" "${pythons[@]}")
  unset PYTHONDONTWRITEBYTECODE
  export PYTHONPYCACHEPREFIX=$venv/pycache # JAX is imported four times, and that without compiled code takes seconds
else
  export PYTHONDONTWRITEBYTECODE=1
fi
find='import importlib.util, sys; sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))'
for python in "${pythons[@]}" ''; do
  if [[ -z "$python" ]] || "$python" -c "$find" "${packages[@]}" 2>/dev/null; then break; fi
done
[[ -n "$python" ]] || skip "${packages[0]}" "no python3 with ${packages[*]}"
export OMP_WAIT_POLICY=passive ONEBIT_PROGRAM=$1 PYTHONPATH=$PWD/../../python MPLBACKEND=agg
exec "$python" -m unittest "test_$2"
