import os
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MY_SETTING"] = "1"
import numpy
print(numpy.__version__, len(os.listdir("/proc/self/task")))
