import numba
import numpy as np


@numba.njit
def draw():
    return np.random.random(3)


print(draw().tolist())
