#!/usr/bin/python3
"""What stays of the network: loopback and unix sockets, for programs that talk to themselves."""

import asyncio
import ctypes
import http.server
import os
import signal
import socket
import ssl
import threading
import time
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor


async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
    writer.close()


async def ask(reader, writer):
    writer.write(b"over and over\n")
    answer = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return answer


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)  # it would tell how slow the machine is

    async def test_tcp(self):
        for host in "127.0.0.1", "::1", "localhost":
            server = await asyncio.start_server(echo, host, 0)
            port = server.sockets[0].getsockname()[1]
            answers = await asyncio.gather(*[self.over_tcp(host, port) for _ in range(50)])
            self.assertEqual(answers, [b"OVER AND OVER\n"] * 50)
            server.close()
            await server.wait_closed()

    async def over_tcp(self, host, port):
        return await ask(*await asyncio.open_connection(host, port))

    async def test_unix(self):
        for path in "/tmp/asked.sock", "/work/asked.sock", "near.sock", "\0asked":
            server = await asyncio.start_unix_server(echo, path)
            self.assertEqual(await ask(*await asyncio.open_unix_connection(path)), b"OVER AND OVER\n")
            server.close()
            await server.wait_closed()

    async def test_udp(self):
        loop, heard = asyncio.get_running_loop(), asyncio.Queue()

        class Ear(asyncio.DatagramProtocol):
            def datagram_received(self, data, address):
                heard.put_nowait(data)

        ear, _ = await loop.create_datagram_endpoint(Ear, local_addr=("127.0.0.1", 0))
        mouth, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, local_addr=("127.0.0.1", 0))
        for n in range(20):
            mouth.sendto(b"%d" % n, ear.get_extra_info("sockname"))
            self.assertEqual(await asyncio.wait_for(heard.get(), 30), b"%d" % n)
        ear.close(), mouth.close()

    async def test_children(self):
        children = [await asyncio.create_subprocess_exec("sh", "-c", f"cat; exit {n}", stdin=-1, stdout=-1) for n in range(5)]
        said = await asyncio.gather(*[child.communicate(b"in") for child in children])
        self.assertEqual([out for out, _ in said], [b"in"] * 5)
        self.assertEqual([child.returncode for child in children], list(range(5)))

    async def test_executors_and_signals(self):
        loop, caught = asyncio.get_running_loop(), asyncio.Event()
        self.assertEqual(await loop.run_in_executor(None, sum, range(10)), 45)
        loop.add_signal_handler(signal.SIGUSR1, caught.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(caught.wait(), 30)
        loop.remove_signal_handler(signal.SIGUSR1)


class Sockets(unittest.TestCase):
    def test_datagrams(self):
        for family, address in (socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0)), (socket.AF_UNIX, "/tmp/datagrams"), (socket.AF_UNIX, "\0datagrams"):
            with self.subTest(address), socket.socket(family, socket.SOCK_DGRAM) as ear, socket.socket(family, socket.SOCK_DGRAM) as mouth:
                ear.bind(address)
                ear.settimeout(30)
                mouth.sendto(b"sendto", ear.getsockname())
                self.assertEqual(ear.recv(9), b"sendto")
                mouth.sendmsg([b"send", b"msg"], [], 0, ear.getsockname())
                self.assertEqual(ear.recv(9), b"sendmsg")
                mouth.connect(ear.getsockname())
                mouth.send(b"send")
                self.assertEqual(ear.recv(9), b"send")

    def test_address_is_forgotten(self):
        # With AF_UNSPEC, as getaddrinfo does between its attempts.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.1", 9))
            self.assertEqual(ctypes.CDLL(None).connect(s.fileno(), bytes(16), 16), 0)
            with self.assertRaises(OSError):
                s.getpeername()

    def test_descriptors_are_passed(self):
        here, there = socket.socketpair()
        with here, there, open("/data/bytes.bin", "rb") as f:
            socket.send_fds(here, [b"file"], [f.fileno()])
            _, (received,), _, _ = socket.recv_fds(there, 9, 1)
            self.assertEqual(os.pread(received, 3, 0), b"\0\1\2")
            os.close(received)

    def test_refused(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        with self.assertRaises(FileNotFoundError), socket.socket(socket.AF_UNIX) as s:
            s.connect("/tmp/nobody")
        with self.assertRaises(OSError):
            socket.create_connection(("192.0.2.1", 80), 5)
        with self.assertRaises(socket.gaierror):
            socket.getaddrinfo("example.org", 80)

    def test_timer_signals_do_not_disturb(self):
        # A call that a signal interrupts is begun again, also where somebody else has a say in it.
        ticks = []
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, lambda *_: ticks.append(1)))
        with socket.create_server(("127.0.0.1", 0), backlog=600) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
            ear.bind(("127.0.0.1", 0))
            begun = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            for _ in range(300):
                socket.create_connection(server.getsockname()).close()
                self.assertEqual(ear.sendto(b"x", ear.getsockname()), 1)
            while len(ticks) < 5:
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertLess(time.monotonic() - begun, 30)  # hundredths of a second where nobody else computes

    def test_threads_at_once(self):
        def connect(_):
            with socket.create_connection(server.getsockname()) as s, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
                return mouth.sendto(b"x", ear.getsockname())

        with socket.create_server(("127.0.0.1", 0), backlog=600) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear, ThreadPoolExecutor(16) as pool:
            ear.bind(("127.0.0.1", 0))
            self.assertEqual(sum(pool.map(connect, range(400))), 400)

    def test_names(self):
        for family, address in (socket.AF_UNSPEC, "127.0.0.1"), (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"):
            found = {answer[4][0] for answer in socket.getaddrinfo("localhost", 80, family)}
            self.assertEqual(found, {address})
        self.assertEqual(socket.gethostname(), "scidex")
        self.assertEqual(socket.gethostbyname("scidex"), "127.0.0.1")
        self.assertEqual(socket.gethostbyaddr("127.0.0.1")[0], "localhost")


class Protocols(unittest.TestCase):
    def test_http(self):
        handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        os.chdir("/data")
        self.addCleanup(os.chdir, "/work")
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever).start()
            with urllib.request.urlopen(f"http://localhost:{server.server_port}/bytes.bin") as answer:
                self.assertEqual(len(answer.read()), 1 << 20)
            server.shutdown()

    def test_tls(self):
        # Without certificates, which are not the matter here.
        def context(kind):
            c = ssl.SSLContext(kind)
            c.check_hostname, c.verify_mode, c.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
            c.set_ciphers("aNULL:@SECLEVEL=0")
            return c

        here, there = socket.socketpair()
        with ThreadPoolExecutor() as pool:
            served = pool.submit(context(ssl.PROTOCOL_TLS_SERVER).wrap_socket, there, server_side=True)
            with context(ssl.PROTOCOL_TLS_CLIENT).wrap_socket(here) as client, served.result(30) as server:
                client.sendall(b"secret")
                self.assertEqual(server.recv(9), b"secret")


if __name__ == "__main__":
    unittest.main(verbosity=2)
