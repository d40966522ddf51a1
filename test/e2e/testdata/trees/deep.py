"""Leaves directories 20,000 levels deep beside what is to be harvested."""

import os


def file(path, content):
    with open(path, "w") as f:
        f.write(content)


file("middle", "beside")
for depth in range(20000):
    os.mkdir("d")
    os.chdir("d")
    if depth in (0, 254):
        file("file", str(depth))
file("bottom", "20000")
