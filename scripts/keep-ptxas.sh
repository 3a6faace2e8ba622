#!/usr/bin/env bash
# keep-ptxas.sh COMPILER... -o OBJECT: compiles CUDA. What ptxas -v says of registers and spills goes to OBJECT.ptxas
# (scripts/check-registers reads it), all else where it went. A compiler launcher, so that it sees what ccache replays.
set -euo pipefail
object='' before=''
for word; do
  if [[ $before == -o ]]; then object=$word; fi
  before=$word
done
if [[ -z $object ]]; then exec "$@"; fi
status=0
"$@" 2>"$object.ptxas" || status=$?
grep -v -e '^ptxas info ' -e '^ *[0-9]* bytes stack frame,' -- "$object.ptxas" >&2 || true
exit "$status"
