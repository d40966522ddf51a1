#!/usr/bin/env python3
"""fill.py COUNT SIZE makes files of different content here, a thousand in each directory, and waits for the disk."""

import os
import sys

MIB = 1 << 20
count, size = int(sys.argv[1]), int(sys.argv[2])
for i in range(count):
    if i % 1000 == 0:
        os.mkdir(f"d{i // 1000:06}")
    with open(f"d{i // 1000:06}/f{i:09}", "wb") as f:
        for left in range(size, 0, -MIB):
            f.write((b"%015d\n" % i * (1 << 16))[:left] if size < MIB else os.urandom(MIB))
os.sync()
