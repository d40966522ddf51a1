#!/usr/bin/python3
"""Threads of Python."""

import concurrent.futures
import contextvars
import os
import queue
import sys
import threading
import unittest


class Threads(unittest.TestCase):
    def test_many(self):
        answers, gate = queue.Queue(), threading.Barrier(60)
        threads = [threading.Thread(target=lambda n=n: (gate.wait(30), answers.put(n))) for n in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers.get() for _ in threads), list(range(60)))

    def test_executor(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(sum(pool.map(lambda x: x * x, range(1000))), 332833500)

    def test_synchronisation(self):
        condition, total = threading.Condition(), []
        def consume():
            with condition:
                self.assertTrue(condition.wait_for(lambda: len(total) == 3, 30))
                total.append("consumed")
        consumer = threading.Thread(target=consume)
        consumer.start()
        for n in range(3):
            with condition:
                total.append(n)
                condition.notify_all()
        consumer.join()
        self.assertEqual(total, [0, 1, 2, "consumed"])

    def test_native_ids(self):
        ids, gate = set(), threading.Barrier(5)
        def show():
            ids.add(threading.get_native_id())
            gate.wait(30)
        threads = [threading.Thread(target=show) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(ids) < 4:
            pass
        self.assertLessEqual(ids, {int(task) for task in os.listdir("/proc/self/task")})
        gate.wait(30)

    def test_stack(self):
        # 256 MiB of it are needed here and not the 8 MiB of the default.
        def recurse(n):
            return n and max([n], key=lambda _: recurse(n - 1)) and n
        limit, size = sys.getrecursionlimit(), threading.stack_size(256 << 20)
        self.addCleanup(sys.setrecursionlimit, limit)
        self.addCleanup(threading.stack_size, size)
        sys.setrecursionlimit(1 << 20)
        found = []
        thread = threading.Thread(target=lambda: found.append(recurse(50000)))
        thread.start()
        thread.join()
        self.assertEqual(found, [50000])

    def test_local(self):
        mark, own = contextvars.ContextVar("mark", default=0), threading.local()
        mark.set(1)
        own.value = 1
        seen = []
        thread = threading.Thread(target=lambda: seen.append((mark.get(), hasattr(own, "value"))))
        thread.start()
        thread.join()
        self.assertEqual(seen, [(0, False)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
