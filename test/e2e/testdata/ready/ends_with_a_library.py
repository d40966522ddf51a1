import ctypes
import json

libc = ctypes.CDLL(None)
libc.printf(b"what the C library has not written\n")
