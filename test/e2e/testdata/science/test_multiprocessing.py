#!/usr/bin/python3
"""multiprocessing by each of its three ways of starting, and the executors that build on it."""

import concurrent.futures
import multiprocessing
import multiprocessing.managers
import multiprocessing.shared_memory
import os
import signal
import unittest
from multiprocessing import get_context
from multiprocessing.connection import Client, Listener, wait

import numpy as np

METHODS = "fork", "spawn", "forkserver"


def square(x):
    return x * x


def answer(queue, connection, start):
    start.wait()
    queue.put(os.getpid())
    connection.send(connection.recv()[::-1])


def count(lock, number, array):
    for _ in range(500):
        with lock:
            number.value += 1
            array[number.value % len(array)] += 1


def enter(semaphore, inside, most, gate):
    gate.wait()
    with semaphore:
        with inside.get_lock():
            inside.value += 1
            most.value = max(most.value, inside.value)
        with inside.get_lock():
            inside.value -= 1


def double(name, shape):
    shared = multiprocessing.shared_memory.SharedMemory(name)
    np.ndarray(shape, buffer=shared.buf)[:] *= 2
    shared.close()


def die(how):
    os.kill(os.getpid(), how)


class EachMethod(unittest.TestCase):
    def each(self):
        for method in METHODS:
            with self.subTest(method):
                yield get_context(method)

    def run_all(self, context, *targets):
        children = [context.Process(target=target, args=args) for target, *args in targets]
        for child in children:
            child.start()
        for child in children:
            child.join()
        self.assertEqual([child.exitcode for child in children], [0] * len(children))

    def test_pool(self):
        for context in self.each():
            with context.Pool(3, maxtasksperchild=20) as pool:
                self.assertEqual(pool.map(square, range(100), 5), [x * x for x in range(100)])
                self.assertEqual(sorted(pool.imap_unordered(square, range(10))), [x * x for x in range(10)])
                self.assertEqual(pool.starmap_async(divmod, [(7, 2)]).get(30), [(3, 1)])

    def test_queue_pipe_event(self):
        for context in self.each():
            queue, start, (here, there) = context.Queue(), context.Event(), context.Pipe()
            child = context.Process(target=answer, args=(queue, there, start))
            child.start()
            here.send([1, 2, 3])
            start.set()
            self.assertEqual((queue.get(timeout=30), here.recv()), (child.pid, [3, 2, 1]))
            child.join()
            self.assertEqual(child.exitcode, 0)

    def test_values_and_locks(self):
        for context in self.each():
            number, array = context.Value("i", lock=False), context.Array("q", 10, lock=False)
            self.run_all(context, *[(count, context.Lock(), number, array)] * 3)
            self.assertEqual((number.value, sum(array)), (1500, 1500))

    def test_semaphore_and_barrier(self):
        for context in self.each():
            inside, most = context.Value("i"), context.Value("i")
            self.run_all(context, *[(enter, context.Semaphore(2), inside, most, context.Barrier(4))] * 4)
            self.assertIn(most.value, (1, 2))

    def test_shared_memory(self):
        for context in self.each():
            shape = 1000, 1000
            shared = multiprocessing.shared_memory.SharedMemory(create=True, size=8 * shape[0] * shape[1])
            numbers = np.ndarray(shape, buffer=shared.buf)
            numbers[:] = 3
            self.run_all(context, (double, shared.name, shape))
            self.assertEqual(numbers.sum(), 6e6)
            del numbers
            shared.close()
            shared.unlink()

    def test_manager(self):
        for context in self.each():
            with context.Manager() as manager, context.Pool(2) as pool:
                numbers, total = manager.list(range(3)), manager.dict()
                pool.map(numbers.append, [3, 4])
                total.update(sum=sum(numbers))
                self.assertEqual(total.copy(), {"sum": 10})

    def test_executor(self):
        for context in self.each():
            with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
                self.assertEqual(sum(pool.map(square, range(50), chunksize=7)), 40425)

    def test_dead_worker(self):
        for context in self.each():
            with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
                with self.assertRaises(concurrent.futures.process.BrokenProcessPool):
                    pool.submit(die, signal.SIGKILL).result(30)
            child = context.Process(target=die, args=(signal.SIGSEGV,))
            child.start()
            wait([child.sentinel], 30)
            child.join()
            self.assertEqual(child.exitcode, -signal.SIGSEGV)


class Connections(unittest.TestCase):
    def test_listener(self):
        for family in "AF_UNIX", "AF_INET":
            with self.subTest(family), Listener(family=family, authkey=b"key") as listener:
                with concurrent.futures.ThreadPoolExecutor() as pool:
                    served = pool.submit(listener.accept)
                    with Client(listener.address, authkey=b"key") as client:
                        with served.result(30) as server:
                            server.send("over " + family)
                            self.assertEqual(client.recv(), "over " + family)

    def test_shared_memory_manager(self):
        with multiprocessing.managers.SharedMemoryManager() as manager:
            numbers = manager.ShareableList([1, 2.5, "three", None])
            self.assertEqual(list(numbers), [1, 2.5, "three", None])


if __name__ == "__main__":
    unittest.main(verbosity=2)
