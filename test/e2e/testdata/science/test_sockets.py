#!/usr/bin/python3
"""What stays of the network: loopback and unix sockets, for programs that talk to themselves."""

import ctypes
import errno
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

HERE = "127.0.0.1", 0


def datagrams(family):
    return socket.socket(family, socket.SOCK_DGRAM)


def listener(family, address):
    ear = datagrams(family)
    ear.bind(address)
    ear.settimeout(30)
    return ear


class Sockets(unittest.TestCase):
    def test_datagrams(self):
        for family, address in (
            (socket.AF_INET, ("127.0.0.1", 0)),
            (socket.AF_INET6, ("::1", 0)),
            (socket.AF_UNIX, "/tmp/datagrams"),
            (socket.AF_UNIX, "\0datagrams"),
        ):
            with self.subTest(address), listener(family, address) as ear, datagrams(family) as mouth:
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
        # A call that a signal interrupts is started again, also where somebody else has a say in it.
        ticks = []
        before = signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with socket.create_server(HERE, backlog=600) as server, listener(socket.AF_INET, HERE) as ear:
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
            with socket.create_connection(server.getsockname()), datagrams(socket.AF_INET) as mouth:
                return mouth.sendto(b"x", ear.getsockname())

        with socket.create_server(HERE, backlog=600) as server, listener(socket.AF_INET, HERE) as ear:
            with ThreadPoolExecutor(16) as pool:
                self.assertEqual(sum(pool.map(connect, range(400))), 400)

    def test_options(self):
        # Of sockets that a program may have: what libraries set by habit.
        for family in socket.AF_INET, socket.AF_INET6:
            with socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK, socket.IPPROTO_TCP) as s:
                for option in "REUSEADDR", "REUSEPORT", "KEEPALIVE", "SNDBUF", "RCVBUF", "BROADCAST", "LINGER", "BUSY_POLL":
                    value = (1).to_bytes(4, "little") * 2 if option == "LINGER" else 1
                    if hasattr(socket, "SO_" + option):
                        s.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_" + option), value)
                for option in "NODELAY", "KEEPIDLE", "KEEPINTVL", "KEEPCNT", "QUICKACK", "USER_TIMEOUT", "FASTOPEN":
                    s.setsockopt(socket.IPPROTO_TCP, getattr(socket, "TCP_" + option), 1)
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_UDP) as s:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            s.setsockopt(17, 1, 0)  # UDP_CORK
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 9)
        with socket.socket(socket.AF_UNIX) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    def test_without_multipath(self):
        # The error by which Go's net, asyncio and curl know that there is none, and take TCP.
        with self.assertRaises(OSError) as refused:
            socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
        self.assertEqual(refused.exception.errno, errno.EPROTONOSUPPORT)

    def test_names(self):
        for family, address in ("AF_UNSPEC", "127.0.0.1"), ("AF_INET", "127.0.0.1"), ("AF_INET6", "::1"):
            found = {a[4][0] for a in socket.getaddrinfo("localhost", 80, getattr(socket, family))}
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
