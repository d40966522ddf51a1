"""Lets a program of an attack and its test take turns."""

import os
import sys
import time


def wait_for(path, word="ready"):
    """Says the word and waits until the file at path has content; without a path it goes on."""
    if path:
        print(word, file=sys.stderr, flush=True)
    while path and not os.path.getsize(path):
        time.sleep(0.05)
