"""Runs the program that its arguments name: one of Python in this process, which was forked from a template, another in its place."""

import os
import runpy
import sys

program = sys.argv[1:]
if program[1].endswith(".py"):  # after its interpreter; of others it is the arena
    sys.argv[:] = program[1:]
    sys.path[0] = os.path.dirname(program[1])
    runpy.run_path(program[1], run_name="__main__")
else:
    os.execvp(program[0], program)
