import json
import os
for name in ("oom_score_adj", "timerslack_ns", "coredump_filter", "personality", "setgroups", "comm", "limits"):
    try:
        print(name, open("/proc/self/" + name).read())
    except OSError as error:
        print(name, error.strerror)
print(os.sched_getaffinity(0), os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), os.getresuid(), os.getresgid())
print([line for line in open("/proc/self/status") if line.split(":")[0] in (
    "Name", "Umask", "TracerPid", "Uid", "Gid", "Groups", "FDSize", "CoreDumping", "THP_enabled",
    "Speculation_Store_Bypass", "SpeculationIndirectBranch", "Cpus_allowed", "Mems_allowed")])
print([line.split()[4:-1] for line in open("/proc/self/mountinfo") if "scidex-analysis" not in line and "sys/kernel" not in line])
print(sorted(os.listdir("/dev")), os.listdir("/dev/shm"), os.listdir("/tmp"), len([n for n in os.listdir("/proc") if n.isdigit()]), os.uname()[1])
print(os.readlink("/proc/self/exe"), os.readlink("/proc/self/cwd"), os.readlink("/proc/self/root"))
stat = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
print(stat[0], stat[4:6], stat[15:18])
