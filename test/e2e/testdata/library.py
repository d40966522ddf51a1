"""What science needs of the standard library and the sandbox must not break."""

import asyncio
import concurrent.futures
import ctypes
import multiprocessing
import multiprocessing.shared_memory
import os
import pathlib
import pwd
import queue
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile


def square(x):
    return x * x


def report(name, answers):
    answers.put((name, os.getpid()))


def fill(name):
    shared = multiprocessing.shared_memory.SharedMemory(name)
    shared.buf[:5] = b"hello"
    shared.close()


class Library(unittest.TestCase):
    def test_pools(self):
        for method in "fork", "spawn", "forkserver":
            with self.subTest(method), multiprocessing.get_context(method).Pool(2) as pool:
                self.assertEqual(pool.map(square, range(100)), [x * x for x in range(100)])

    def test_processes_and_queues(self):
        for method in "fork", "spawn", "forkserver":
            with self.subTest(method):
                context = multiprocessing.get_context(method)
                answers = context.Queue()
                child = context.Process(target=report, args=(method, answers))
                child.start()
                self.assertEqual(answers.get(), (method, child.pid))
                child.join()
                self.assertEqual(child.exitcode, 0)

    def test_shared_memory(self):
        shared = multiprocessing.shared_memory.SharedMemory(create=True, size=1 << 20)
        child = multiprocessing.get_context("spawn").Process(target=fill, args=(shared.name,))
        child.start()
        child.join()
        self.assertEqual(bytes(shared.buf[:5]), b"hello")
        shared.close()
        shared.unlink()

    def test_manager_and_locks(self):
        with multiprocessing.Manager() as manager:
            numbers = manager.list(range(3))
            numbers.append(3)
            self.assertEqual(list(numbers), [0, 1, 2, 3])
        with multiprocessing.Lock(), multiprocessing.Semaphore(2):
            pass

    def test_executors(self):
        for executor in concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor:
            with executor(2) as pool:
                self.assertEqual(sum(pool.map(square, range(10))), 285)

    def test_threads(self):
        answers = queue.Queue()
        threads = [threading.Thread(target=answers.put, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers.get() for _ in threads), list(range(20)))

    def test_subprocess(self):
        done = subprocess.run(["sh", "-c", "cat; exit 3"], input=b"through a pipe", capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (3, b"through a pipe"))
        self.assertEqual(subprocess.run([sys.executable, "-c", "pass"], start_new_session=True).returncode, 0)

    def test_files(self):
        for directory in None, "/work", "/dev/shm", pathlib.Path.home():
            with tempfile.NamedTemporaryFile(dir=directory) as f, tempfile.TemporaryDirectory(dir=directory) as d:
                f.write(b"x" * 100000)
                os.link(f.name, os.path.join(d, "link")) if os.stat(d).st_dev == os.stat(f.name).st_dev else None
                os.mkfifo(os.path.join(d, "fifo"))
                os.symlink("x", os.path.join(d, "symlink"))
                os.chmod(d, 0o755)
        with zipfile.ZipFile("/tmp/a.zip", "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("a", "text")

    def test_sqlite(self):
        for path in ":memory:", "/work/a.db", "/tmp/a.db":
            database = sqlite3.connect(path)
            database.execute("PRAGMA journal_mode = WAL")
            with database:
                database.execute("CREATE TABLE t (x)")
                database.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(1000)))
            self.assertEqual(database.execute("SELECT sum(x) FROM t").fetchone(), (499500,))
            database.close()

    def test_asyncio(self):
        async def main():
            async def answer(reader, writer):
                writer.write(await reader.readline())
                writer.close()

            server = await asyncio.start_server(answer, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"over loopback\n")
            self.assertEqual(await reader.read(), b"over loopback\n")
            writer.close()
            server.close()
            child = await asyncio.create_subprocess_exec("echo", "child", stdout=subprocess.PIPE)
            self.assertEqual((await child.communicate())[0], b"child\n")

        asyncio.run(main())

    def test_sockets(self):
        a, b = socket.socketpair()
        a.sendall(b"x")
        self.assertEqual(b.recv(1), b"x")
        a.close()
        b.close()
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
            socket.create_connection(server.getsockname()[:2]).close()
        self.assertEqual(socket.gethostbyname("localhost"), "127.0.0.1")

    def test_surroundings(self):
        self.assertEqual(pwd.getpwuid(os.getuid()).pw_name, "analysis")
        self.assertEqual(time.tzname[0], "UTC")
        self.assertTrue(ssl.create_default_context().get_ca_certs())
        ctypes.CDLL("libm.so.6").floor


if __name__ == "__main__":
    unittest.main(verbosity=2)
