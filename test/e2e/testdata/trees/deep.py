"""Leaves directories 20,000 levels deep beside what is to be harvested. They are made from the bottom up: for each name that is made
Landlock goes up to the root."""

import os


def file(path, content):
    with open(path, "w") as f:
        f.write(content)


file("middle", "beside")
os.mkdir("d")
file("d/bottom", "20000")
for depth in reversed(range(19999)):
    os.mkdir("up")
    if depth in (0, 254):
        file("up/file", str(depth))
    os.rename("d", "up/d")
    os.rename("up", "d")
