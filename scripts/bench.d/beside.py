#!/usr/bin/env python3
"""beside.py SECONDS COUNT: prints what of SECONDS a run took beside its analysis. Its result comes on standard input, and
must have COUNT outputs."""

import json
import sys

result = json.load(sys.stdin)
if result["state"] != "complete" or result["outputs_total"] != int(sys.argv[2]):
    raise SystemExit(f"beside.py: {result['state']}, {result['outputs_total']} outputs: {result['message']}")
print(float(sys.argv[1]) - result["usage"]["wall_ms"] / 1000)
