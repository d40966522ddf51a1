#!/bin/sh
# stress-ng.sh FLAG VALUE NAME...: one stressor after the other, each with --NAME-FLAG or for --FLAG VALUE, and how each ended.
flag=$1 value=$2
shift 2
echo begin >&2
for name; do
  if [ "$flag" = ops ]; then amount=--$name-ops; else amount=--$flag; fi
  stress-ng --metrics-brief --temp-path /tmp --oomable --"$name" 2 "$amount" "$value" || echo "stress-ng $name ended with $?"
done
