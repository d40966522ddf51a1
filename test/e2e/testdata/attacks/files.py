"""Reads files of the host, and writes beside them: a directory of the same name is another one inside, so
that what lies beside tells where it is. Inside /var/tmp is a link to /tmp, which has the directory by then.

item: 6
needs: canaries
inside hidden: *
inside write: write below *
inside EEXIST: write below /var/tmp
"""

import os

from lib.attack import arena, attempt, report


def look(path):
    if os.path.isdir(path):
        os.listdir(path)
    else:
        with open(path, "rb") as f:
            f.read(1)


def beside(directory):
    os.mkdir(f"{directory}/{arena['marker']}-directory")
    os.stat(f"{directory}/{arena['marker']}-canary")


results = {"read " + path: attempt(look, path) for path in arena["files"]}
for directory in arena["directories"]:
    results["read the canary in " + directory] = attempt(look, f"{directory}/{arena['marker']}-canary")
    results["write below " + directory] = attempt(beside, directory)
report(results)
