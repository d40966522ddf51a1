"""Takes every lock it can get on the files that are given, says so, and keeps them until the last file
that is given has content."""

import fcntl
import os
import signal
import struct
import sys
import time

signal.signal(signal.SIGIO, signal.SIG_IGN)  # somebody wants a file that is leased
*files, end = sys.argv[1:]
held = []
for path in files:
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.fcntl(fd, fcntl.F_SETLK, struct.pack("hhllhh", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0, 0))
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)  # for the owner alone
    except OSError as problem:
        print("lease:", problem.strerror, file=sys.stderr)
    held.append(fd)
print("held", file=sys.stderr, flush=True)
while not os.stat(end).st_size > 0:
    time.sleep(0.05)
