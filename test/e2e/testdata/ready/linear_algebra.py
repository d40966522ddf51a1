import ctypes
import os
import numpy
import scipy.linalg
square = numpy.ones((1200, 1200))
print((square @ square)[0, 0], scipy.linalg.det(numpy.eye(300)), len(os.listdir("/proc/self/task")))
for path in sorted({line.split()[-1] for line in open("/proc/self/maps") if "openblas" in line}):
    library = ctypes.CDLL(path)
    for name in ("openblas_get_num_threads", "openblas_get_num_procs", "openblas_get_parallel"):
        print(path, name, getattr(library, name)() if hasattr(library, name) else None)
