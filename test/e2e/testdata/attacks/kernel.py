"""Steers the kernel by the files of /proc, /sys and /dev, and looks for what they tell of it.

item: 11
control root: write*, address*, read /proc*, read /sys*, list /sys/kernel/*, open /dev*
control kernel: write*, read*, open*, list*, address*
"""

import errno
import os
import re
import stat
import sys

from lib.attack import attempt, report

results = {}


def write(path):
    """Opened and closed: to write would change the host, where it can be done."""
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))


def read(path):
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb", buffering=0) as f:
        try:
            content = f.read(64)
        except BlockingIOError:  # there is nothing just now
            return
    if not content:
        raise OSError(errno.ENODATA, "empty")


# What every run has at /sys are files of its own.
made_up = {"fs", "cgroup", "cgroup.controllers", "cpu", "cpu,cpuacct", "cpu.max", "memory", "memory.high", "memory.max"}


def listed(path):
    if not set(os.listdir(path)) - made_up:
        raise OSError(errno.ENODATA, "empty")


def addresses(path, pattern):
    with open(path) as f:
        if not any(int(match, 16) for line in f for match in re.findall(pattern, line)):
            raise OSError(errno.ENODATA, "all are zero")


def refused(path, skip=()):
    """The first file below that can be opened for writing ends it well; a device is /dev/null as a mask."""
    for top, directories, files in os.walk(path):
        directories[:] = [name for name in directories if not (top == "/proc" and (name.isdigit() or name in skip))]
        for name in files:
            path = os.path.join(top, name)
            if attempt(write, path) == "ok" and not stat.S_ISCHR(os.stat(path).st_mode):
                print("it writes", path, file=sys.stderr)
                return
    raise OSError(errno.EROFS, "none")


for name in (
    "sysrq-trigger", "sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hostname", "sys/kernel/sysrq",
    "sys/kernel/panic", "sys/kernel/ns_last_pid", "sys/kernel/yama/ptrace_scope", "sys/vm/drop_caches", "sys/vm/overcommit_memory",
    "sys/fs/binfmt_misc/register", "sys/net/ipv4/ip_forward", "sys/net/core/somaxconn",
    "kcore", "irq/default_smp_affinity", "mtrr", "scsi/scsi", "asound/version", "timer_stats", "latency_stats", "kmsg",
    "self/oom_adj", "self/loginuid", "self/timens_offsets", "self/projid_map", "self/uid_map", "self/gid_map", "self/setgroups",
    "self/attr/current", "self/attr/exec", "self/sched", "self/coredump_filter", "self/clear_refs", "self/comm",
):
    results["write /proc/" + name] = attempt(write, "/proc/" + name)
results["write anywhere in /proc/sys"] = attempt(refused, "/proc/sys")
results["write anywhere in /proc"] = attempt(refused, "/proc", ("self", "thread-self"))
for name in (
    "kcore", "kmsg", "keys", "sched_debug", "timer_list", "timer_stats", "latency_stats", "vmallocinfo", "pagetypeinfo", "slabinfo",
    "acpi/wakeup", "scsi/scsi", "asound/cards", "vmcore", "self/stack", "page_owner", "kpagecount", "kpageflags",
    "bus/pci/devices", "bus/input/devices", "cmdline", "config.gz", "consoles", "crypto", "devices", "dma", "driver/rtc", "fs/nfsd/exports",
    "interrupts", "mdstat", "misc", "partitions", "schedstat", "softirqs", "swaps", "tty/drivers", "tty/ldiscs",
):
    results["read /proc/" + name] = attempt(read, "/proc/" + name)
for name, pattern in {
    "kallsyms": r"^([0-9a-f]+) ", "modules": r"0x([0-9a-f]+)", "iomem": r"^ *([0-9a-f]+)-", "ioports": r"^ *([0-9a-f]+)-",
    "net/unix": r"^([0-9a-f]+):", "net/tcp": r" ([0-9a-f]{16}) ", "net/packet": r"^([0-9a-f]{16}) ",
}.items():
    results["address in /proc/" + name] = attempt(addresses, "/proc/" + name, pattern)

for path in "/proc/bus", "/proc/driver", "/proc/fs", "/proc/irq", "/proc/tty":
    results["list " + path] = attempt(listed, path)
for path in (
    "/sys", "/sys/kernel", "/sys/class/net", "/sys/block", "/sys/devices", "/sys/module", "/sys/firmware", "/sys/fs", "/sys/fs/cgroup", "/sys/fs/bpf",
    "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security",
):
    results["list " + path] = attempt(listed, path)
for path in "/sys/kernel/notes", "/sys/kernel/uevent_seqnum", "/sys/devices/system/cpu/online", "/sys/class/net/lo/address":
    results["read " + path] = attempt(read, path)
for path in "/sys/power/state", "/sys/kernel/uevent_helper", "/sys/module/printk/parameters/time", "/sys/kernel/mm/ksm/run":
    results["write " + path] = attempt(write, path)

for name in (
    "mem", "kmem", "port", "kmsg", "console", "tty0", "tty1", "ttyS0", "fuse", "net/tun", "kvm", "loop0", "loop-control", "mapper/control",
    "sda", "nvme0n1", "vsock", "vhost-net", "vhost-vsock", "cpu/0/msr", "cpu_dma_latency", "hpet", "rtc0", "rtc", "mcelog", "snapshot",
    "autofs", "btrfs-control", "userfaultfd", "uinput", "input/event0", "fb0", "dri/card0", "nvram", "ppp", "ptp0", "watchdog",
    "rfkill", "udmabuf", "dma_heap/system", "bus/usb/001/001", "sgx_provision", "sev", "tpm0", "nbd0", "raw/rawctl",
):
    results["open /dev/" + name] = attempt(write, "/dev/" + name)
report(results)
