"""Leaves files with the paths that are given, in base64, each with its path for content."""

import base64
import os
import sys

top = os.getcwd()
for path in map(base64.b64decode, sys.argv[1:]):
    os.chdir(top)
    *directories, name = path.split(b"/")
    for directory in directories:  # a path may be longer than what one call takes
        if not os.path.isdir(directory):
            os.mkdir(directory)
        os.chdir(directory)
    with open(name, "wb") as f:
        f.write(path)
