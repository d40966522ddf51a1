"""Fills sockets on its own loopback that nobody reads, with 160 MiB at most, and says how many bytes the
kernel keeps for them."""

import socket

listener = socket.create_server(("127.0.0.1", 0), backlog=100)
pairs, kept = [], 0
while kept < 160 << 20 and len(pairs) < 100:
    near = socket.socket()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
    near.connect(listener.getsockname())
    far, _ = listener.accept()
    near.setblocking(False)
    pairs.append((near, far))
    try:
        while True:
            kept += near.send(b"x" * 65536)
    except BlockingIOError:
        pass
print(kept)
