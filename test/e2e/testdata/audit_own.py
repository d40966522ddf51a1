"""Reaches its own servers by every road and asks what libraries ask: none of it is worth an event."""

import asyncio
import os
import pathlib
import signal
import socket
import tempfile


async def served(host):
    async def answer(reader, writer):
        writer.write(await reader.readline())
        writer.close()

    server = await asyncio.start_server(answer, host, 0, family=socket.AF_INET)
    reader, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
    writer.write(b"line\n")
    assert await reader.read() == b"line\n"
    writer.close()
    server.close()


for host in None, "localhost", "0.0.0.0":
    asyncio.run(served(host))
for host in None, "localhost", "::", "127.0.0.1":
    socket.getaddrinfo(host, 5432, flags=socket.AI_PASSIVE)  # a connect(2) of a datagram socket for each

directory = tempfile.mkdtemp()
os.chdir(directory)
deep = pathlib.Path("/work", *["d" * 50] * 3)
deep.mkdir(parents=True)
os.symlink(deep, "link")
os.symlink("/", "root")
with socket.socket(socket.AF_UNIX) as near, socket.socket(socket.AF_UNIX) as far:
    near.bind("s")
    near.listen()
    handle = os.open(deep, os.O_PATH)
    far.bind(f"/proc/self/fd/{handle}/s")  # as one does where the path is too long
    far.listen()
    for path in (
        "s", "./s", directory + "/s", f"root{directory}/s", "/proc/self/cwd/s", f"{directory}/../..{directory}/s",
        "link/s", f"/proc/self/fd/{handle}/s", f"/proc/{os.getpid()}/root{directory}/s",
    ):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
with socket.socket(socket.AF_UNIX) as client:  # not there yet
    assert client.connect_ex(directory + "/later") == 2

os.close(handle)
print("done")
