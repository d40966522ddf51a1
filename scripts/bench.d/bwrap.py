#!/usr/bin/env python3
"""bwrap.py CONFIG WORK: prints the words of a bwrap that makes of a bundle's config.json what it can, a line each.

The same root, binds, tmpfs, environment, ids and namespaces. Not what it has no word for: control groups, the filter
of system calls, rlimits, masked paths. Its /dev is its own. WORK takes the place of the bundle's directory, which
belongs to ids of a range that bwrap does not map.
"""

import json
import sys


def options(mount, work):
    """Yield the words for one mount of the bundle."""
    place = mount["destination"]
    given = dict(o.split("=", 1) for o in mount["options"] if "=" in o)
    if place == "/work":
        yield from ("--bind", work, place)
    elif mount["type"] == "bind":
        yield from ("--ro-bind", mount["source"], place)
    elif place == "/dev":
        yield from ("--dev", place)
    elif mount["type"] == "proc":
        yield from ("--proc", place)
    elif mount["type"] == "tmpfs":
        yield from ("--size", given["size"], "--tmpfs", place)
    elif mount["type"] != "devpts":  # which --dev has made
        raise SystemExit(f"bwrap.py: what is a mount of type {mount['type']}?")


def words(config, work):
    """Yield all words but the command's."""
    process = config["process"]
    yield from ("bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--hostname", config["hostname"])
    yield from ("--uid", str(process["user"]["uid"]), "--gid", str(process["user"]["gid"]), "--cap-drop", "ALL", "--clearenv")
    for variable in process["env"]:
        yield from ("--setenv", *variable.split("=", 1))
    yield from ("--ro-bind", config["root"]["path"], "/")
    for mount in config["mounts"]:
        yield from options(mount, work)
    yield from ("--chdir", process["cwd"])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(words(json.load(file), sys.argv[2])))
