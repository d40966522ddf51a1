import ctypes
import json

libc = ctypes.CDLL(None)
libc.printf(b"what the C library has not written\n")
file = libc.fopen
file.restype = ctypes.c_void_p
libc.fputs(b"not closed", ctypes.c_void_p(file(b"/work/out.txt", b"w")))
libc.on_exit(ctypes.cast(libc.abort, ctypes.c_void_p), None)
