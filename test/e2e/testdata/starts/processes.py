import concurrent.futures, multiprocessing, os, subprocess, sys

if __name__ == '__main__':
    with multiprocessing.get_context('spawn').Pool(1) as pool:
        print(pool.map(abs, [-1, 2]))
    with concurrent.futures.ProcessPoolExecutor(1) as executor:
        print(list(executor.map(abs, [-3])))
    print(subprocess.check_output([sys.executable, '-c', 'import sys; print(sys.path[1:2])'], text=True), len(os.sched_getaffinity(0)) > 0)
