#!/usr/bin/python3
"""workload.py COUNT: an analysis that computes with numpy, COUNT times the same.

workload.py --last SECONDS prints the COUNT with which it lasts about that long.
"""

import sys
import time

import numpy


def work(count):
    """Decompose, transform and sort: BLAS, numpy's own loops and fresh memory."""
    matrix = numpy.random.default_rng(0).random((400, 400))
    for _ in range(count):
        matrix = numpy.linalg.qr(matrix @ matrix.T)[0]
        matrix += numpy.sort(numpy.abs(numpy.fft.fft2(matrix)), axis=0) / matrix.size
    return matrix.sum()


if sys.argv[1] == "--last":
    work(3)
    count, begin = 10, time.perf_counter()
    work(count)
    print(round(count * float(sys.argv[2]) / (time.perf_counter() - begin)))
else:
    print(work(int(sys.argv[1])))
