"""Gives the audit as much work as it can for some seconds: SECONDS PROCESSES SOCKETS."""

import os
import socket
import sys
import time

seconds, processes, sockets = map(int, sys.argv[1:])
held = []
for n in range(sockets):  # every question about an abstract name goes through all of them
    s = socket.socket(socket.AF_UNIX)
    s.bind(b"\0" + bytes(f"{n:090}", "ascii"))
    held.append(s)
print("ready", file=sys.stderr, flush=True)
end = time.monotonic() + seconds
children = []
for _ in range(processes):
    child = os.fork()
    if child == 0:
        i = 0
        while time.monotonic() < end:
            i += 1
            with socket.socket(socket.AF_UNIX) as s:
                assert s.connect_ex(b"\0nobody%d" % (i % 5)) == 111
            with socket.socket() as s:
                assert s.connect_ex(("127.0.0.1", 5432)) == 111
        os._exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
print("flooded")
