"""Prints what a run of Python can import, as JSON: distributions with their versions, and modules of none."""
import importlib.metadata
import json
import pkgutil
import platform
import re
import shutil
import sysconfig


def normal(name):
    return re.sub("[-_.]+", "_", name).lower()


def provided(distribution):
    """The names of top-level modules that a distribution may have."""
    listed = distribution.read_text("top_level.txt")
    if listed:
        return set(listed.split())
    return {str(file).split("/")[0].split(".")[0] for file in distribution.files or ()}


paths = sysconfig.get_paths()
own = {paths[name] + below for name in ("stdlib", "platstdlib") for below in ("", "/lib-dynload")}
modules = {m.name for m in pkgutil.iter_modules() if not m.name.startswith("_") and getattr(m.module_finder, "path", "") not in own}
found, rest = {}, set(modules)
for distribution in importlib.metadata.distributions():
    try:
        name, version, has = distribution.metadata["Name"], distribution.version, provided(distribution) & modules
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
}))
