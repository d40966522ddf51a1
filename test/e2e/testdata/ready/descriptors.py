import os
print(sorted((fd, os.readlink("/proc/self/fd/" + fd).partition(":")[0]) for fd in os.listdir("/proc/self/fd")))
print(open(__file__).fileno(), os.listdir("/proc/self/task") == [str(os.getpid())])
