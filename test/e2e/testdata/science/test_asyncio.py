#!/usr/bin/python3
"""asyncio: servers over loopback and unix sockets, children, executors and signals."""

import asyncio
import os
import signal
import unittest
from subprocess import PIPE


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
        children = [
            await asyncio.create_subprocess_exec("sh", "-c", f"cat; exit {n}", stdin=PIPE, stdout=PIPE)
            for n in range(5)
        ]
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
