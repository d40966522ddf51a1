#!/bin/sh
# trinity.sh SEED CALLS FLAG...: trinity makes so many calls, and says how many it made. The single id of a caller without a range is
# root inside, which it calls dangerous. Calls of another architecture are an attack (../attacks/foreign.c): trinity waits for ever
# for a child that cannot make one.
seed=$1 calls=$2
shift 2
echo begin >&2
trinity --dangerous -q -l off -a64 -C8 "-s$seed" "-N$calls" -V /work "$@" || exec echo "trinity ended with $?"
