import numba
import numpy as np


@numba.njit(parallel=True)
def twice(a):
    b = np.empty_like(a)
    for i in numba.prange(len(a)):
        b[i] = 2 * a[i]
    return b


print(twice(np.arange(5.0)), numba.threading_layer())
