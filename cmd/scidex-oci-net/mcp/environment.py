"""Prints what a run has, as JSON: what Python can import (distributions with their versions, and modules of none), and files below
the paths that are given after a part of a file's path, how many files are listed and how many entries are looked at."""
import collections
import importlib.metadata
import itertools
import json
import os
import pkgutil
import platform
import re
import shutil
import sys
import sysconfig


def normal(name):
    return re.sub("[-_.]+", "_", name).lower()


def plain(name):
    """The name of a distribution. Debian has builds of one package as distributions beside it, such as h5py.-debian-h5py-serial."""
    return re.sub("[-_.]{2,}debian[-_.].*", "", name or "")


def provided(distribution):
    """The names of top-level modules that a distribution may have."""
    listed = distribution.read_text("top_level.txt")
    if listed:
        return set(listed.split())
    return {str(file).split("/")[0].split(".")[0] for file in distribution.files or ()}


def shared(part, most, left, *tops):
    """The files with the part in their path, as many as are listed, how many there are, and whether some were not looked at."""
    listed, total, directories = [], 0, collections.deque()

    def note(path, size):
        nonlocal total
        if part.lower() in path.lower():
            total += 1
            if total <= most:
                listed.append({"path": os.fsencode(path).decode(errors="backslashreplace"), "size": size()})

    for top in tops:
        if os.path.isfile(top):
            note(top, lambda: os.stat(top).st_size)
        else:
            directories.append(top)
    while directories and left > 0:
        try:
            with os.scandir(directories.popleft()) as entries:
                for entry in itertools.islice(entries, left):
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(entry.path)
                    elif entry.is_file():
                        note(entry.path, lambda: entry.stat().st_size)
        except OSError:  # what cannot be read hides nothing else
            pass
    return {"files": listed, "files_total": total, "files_left": left <= 0}


paths = sysconfig.get_paths()
own = {paths[name] + below for name in ("stdlib", "platstdlib") for below in ("", "/lib-dynload")}
modules = {m.name for m in pkgutil.iter_modules() if not m.name.startswith("_") and getattr(m.module_finder, "path", "") not in own}
found, rest = {}, set(modules)
for distribution in importlib.metadata.distributions():
    try:
        name, version, has = plain(distribution.metadata["Name"]), distribution.version, provided(distribution) & modules
    except Exception:  # one that is broken hides no other
        continue
    if not name or normal(name) in found:
        continue
    rest -= has
    found[normal(name)] = {"name": name, "version": version or "", "modules": sorted(m for m in has if normal(m) != normal(name))[:5]}
for module in rest:
    found.setdefault(normal(module), {"name": module, "version": "", "modules": []})
programs = {"python": "python3", "r": "Rscript", "julia": "julia", "shell": "sh", "bash": "bash"}
print(json.dumps({
    "python": platform.python_version(),
    "languages": [language for language, program in programs.items() if shutil.which(program)],
    "packages": [found[name] for name in sorted(found)],
    **shared(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]),
}))
