import multiprocessing
import numpy


def work(x):
    return int(numpy.arange(x).sum())


if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(work, [10, 100]))
