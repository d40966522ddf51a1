"""Shared memory, semaphores and queues of System V and POSIX, and keyrings (svipc(7), mq_overview(7),
keyrings(7)). Python has no modules for most of them."""

import ctypes
import os
import platform

from .road import Road, demand, key, marker, read

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.sem_open.restype = ctypes.c_void_p
IPC_CREAT, IPC_RMID = 0o1000, 0
NAME = b"/" + marker.encode()
TEXT = marker.encode()


def checked(result):
    """What a function of the C library returns, or its error."""
    if result in (-1, None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class SharedMemory(Road):
    def leave(self):
        self.id = checked(libc.shmget(key, 4096, IPC_CREAT | 0o666))
        ctypes.memmove(checked(libc.shmat(self.id, None, 0)), TEXT, len(TEXT))

    def find(self):
        address = checked(libc.shmat(checked(libc.shmget(key, 0, 0)), None, 0))
        demand(ctypes.string_at(address, len(TEXT)) == TEXT, "shared memory")

    def remove(self):
        libc.shmctl(self.id, IPC_RMID, None)


class Semaphore(Road):
    def leave(self):
        self.id = checked(libc.semget(key, 1, IPC_CREAT | 0o666))

    def find(self):
        checked(libc.semget(key, 0, 0))

    def remove(self):
        libc.semctl(self.id, 0, IPC_RMID)


class Message(ctypes.Structure):
    _fields_ = [("type", ctypes.c_long), ("text", ctypes.c_char * 64)]


class Queue(Road):
    def leave(self):
        self.id = checked(libc.msgget(key, IPC_CREAT | 0o666))
        checked(libc.msgsnd(self.id, ctypes.byref(Message(1, TEXT)), 64, 0))

    def find(self):
        message = Message()
        checked(libc.msgrcv(checked(libc.msgget(key, 0)), ctypes.byref(message), 64, 0, 0))
        demand(message.text == TEXT, "message")

    def remove(self):
        libc.msgctl(self.id, IPC_RMID, None)


class Listed(Road):
    """Those above in the lists of /proc."""

    def find(self):
        for kind in "shm", "sem", "msg":
            demand(str(key).encode() in read("/proc/sysvipc/" + kind), kind)


class NamedQueue(Road):
    def leave(self):
        self.queue = checked(libc.mq_open(NAME, os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o666, None))

    def find(self):
        checked(libc.mq_send(checked(libc.mq_open(NAME, os.O_RDWR | os.O_NONBLOCK)), TEXT, len(TEXT), 0))

    def felt(self):
        buffer = ctypes.create_string_buffer(8192)
        size = checked(libc.mq_receive(self.queue, buffer, len(buffer), None))
        demand(buffer.raw[:size] == TEXT, "message")

    def remove(self):
        libc.mq_unlink(NAME)


class NamedMemory(Road):
    def leave(self):
        os.write(checked(libc.shm_open(NAME, os.O_CREAT | os.O_RDWR, 0o666)), TEXT)

    def find(self):
        demand(os.read(checked(libc.shm_open(NAME, os.O_RDWR, 0)), 100) == TEXT, "shared memory")

    def remove(self):
        libc.shm_unlink(NAME)


class NamedSemaphore(Road):
    def leave(self):
        checked(libc.sem_open(NAME, os.O_CREAT, 0o666, 0))

    def find(self):
        checked(libc.sem_open(NAME, 0))

    def remove(self):
        libc.sem_unlink(NAME)


# add_key(2) and keyctl(2), for which the C library has no functions.
ADD_KEY, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}[platform.machine()]
KEYCTL_UNLINK, KEYCTL_SEARCH, KEYCTL_READ = 9, 10, 11


class Keyring(Road):
    def __init__(self, name, ring):
        super().__init__(name)
        self.ring = ring

    def leave(self):
        self.key = checked(libc.syscall(ADD_KEY, b"user", TEXT, TEXT, ctypes.c_size_t(len(TEXT)), self.ring))

    def find(self):
        checked(libc.syscall(KEYCTL, KEYCTL_SEARCH, self.ring, b"user", TEXT, 0))

    def remove(self):
        libc.syscall(KEYCTL, KEYCTL_UNLINK, self.key, self.ring)


roads = [
    SharedMemory("shared memory of System V"),
    Semaphore("semaphore of System V"),
    Queue("queue of System V"),
    Listed("lists of System V"),
    NamedMemory("shared memory of POSIX"),
    NamedSemaphore("semaphore of POSIX"),
    NamedQueue("queue of POSIX"),
    Keyring("keyring of the user", -4),
    Keyring("keyring of the user's session", -5),
]
