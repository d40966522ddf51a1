import sys
import resource
import gc
import json
print(sys.getrecursionlimit())
sys.setrecursionlimit(300)
def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
try:
    deep(1000)
except RecursionError as error:
    print(error)
sys.setrecursionlimit(20000)
print(deep(10000), sys.getswitchinterval(), gc.isenabled(), gc.get_debug(), gc.callbacks, gc.garbage, sys.getdlopenflags(), sys.get_int_max_str_digits(), sys.get_asyncgen_hooks(), sys.get_coroutine_origin_tracking_depth())
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
try:
    files = [open("/dev/null") for _ in range(100)]
except OSError as error:
    print(error.errno, error.strerror)
