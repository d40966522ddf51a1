"""Leaves one directory with as many entries as the argument says, of which one in ten is a file."""

import os
import sys

os.mkdir("crowd")
os.chdir("crowd")
for number in range(int(sys.argv[1])):
    if number % 10 == 0:
        with open(f"f{number:07}", "w") as f:
            f.write(str(number))
    else:
        os.symlink("/etc/shadow", f"l{number:07}")
