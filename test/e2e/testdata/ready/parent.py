import gc
import os
print(os.getppid(), open("/proc/self/cmdline", "rb").read(), gc.get_freeze_count())
