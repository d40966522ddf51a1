"""Describes the process it runs in, as JSON."""

import json
import os
import resource
import socket
import stat
import tempfile


def text(path):
    with open(path) as f:
        return f.read().strip()


def descriptors():
    """Open descriptors and what they are: listing them opens one, which is gone then."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = oct(stat.S_IFMT(os.fstat(int(name)).st_mode))
        except OSError:
            continue
    return found


def devices():
    """What is below /dev, and is no mount of its own."""
    found = {}
    for top, directories, files in os.walk("/dev"):
        for name in sorted(files + [d for d in directories if os.path.islink(os.path.join(top, d))]):
            path = os.path.join(top, name)
            st = os.lstat(path)
            if stat.S_ISLNK(st.st_mode):
                found[path] = "-> " + os.readlink(path)
            else:
                found[path] = f"{stat.filemode(st.st_mode)} {os.major(st.st_rdev)}:{os.minor(st.st_rdev)}"
    return found


def writable(places):
    """Those directories in which a file can be made."""
    found = []
    for place in places:
        try:
            with tempfile.TemporaryFile(dir=place):
                found.append(place)
        except OSError:
            pass
    return found


def processes():
    """Their names. Outside one may end meanwhile."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.append(text(f"/proc/{pid}/comm"))
        except OSError:
            continue
    return sorted(found)


status = dict(line.split(":\t", 1) for line in text("/proc/self/status").splitlines() if ":\t" in line)
mountinfo = text("/proc/self/mountinfo").splitlines()
limits = {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"}

print(json.dumps({
    "status": status,
    "descriptors": descriptors(),
    "environment": dict(os.environ),
    "limits": limits,
    "oom_score_adj": text("/proc/self/oom_score_adj"),
    "user_namespaces": text("/proc/sys/user/max_user_namespaces"),
    "namespaces": {name: os.readlink("/proc/self/ns/" + name) for name in os.listdir("/proc/self/ns")},
    "interfaces": [line.split(":")[0].strip() for line in text("/proc/net/dev").splitlines()[2:]],
    "mountinfo": mountinfo,
    "hostname": socket.gethostname(),
    "directory": os.getcwd(),
    "root": sorted(os.listdir("/")),
    "etc": sorted(os.listdir("/etc")),
    "terminal": os.isatty(0) or os.isatty(1) or os.isatty(2),
    "tty": text("/proc/self/stat").rsplit(")", 1)[1].split()[4],
    "scheduling": [os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), int(text("/proc/self/personality"), 16)],
    "uid_map": text("/proc/self/uid_map").split(),
    "gid_map": text("/proc/self/gid_map").split(),
    "cgroup": text("/proc/self/cgroup").splitlines(),
    "devices": devices(),
    "writable": writable(sorted({"/", *("/" + name for name in os.listdir("/")), *(line.split()[4] for line in mountinfo)})),
    "processes": processes(),
}))
