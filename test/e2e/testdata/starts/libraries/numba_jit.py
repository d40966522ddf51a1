import numba
import numpy as np


@numba.njit
def total(a):
    s = 0.0
    for v in a:
        s += v
    return s


print(total(np.arange(10.0)), numba.config.NUMBA_NUM_THREADS, numba.get_num_threads())
