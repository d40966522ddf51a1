import sys
print(sys.argv, sys.orig_argv, open("/proc/self/comm").read())
