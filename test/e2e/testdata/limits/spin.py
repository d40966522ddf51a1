"""Lets eight threads compute until it is told to end. hashlib gives the interpreter's lock away."""

import hashlib
import threading

import go

block = bytes(1 << 20)


def spin():
    while not go.told():
        hashlib.sha256(block).digest()


go.ready()
threads = [threading.Thread(target=spin) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
