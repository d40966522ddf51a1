import sys
print(sys.argv, sys.orig_argv, open("/proc/self/cmdline", "rb").read(), open("/proc/self/comm").read())
