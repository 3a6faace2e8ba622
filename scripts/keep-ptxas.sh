#!/usr/bin/env bash
# keep-ptxas.sh COMPILER... -o OBJECT: compiles CUDA. What ptxas -v prints about registers and spills goes to OBJECT.ptxas,
# which scripts/check-registers reads; all other messages still go to stderr. It is a compiler launcher, so that it also
# sees messages that ccache replays.
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
