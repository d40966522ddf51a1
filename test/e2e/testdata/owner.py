"""Does with the files of a run, which the first argument names, what their owner on the host can do: the others
cannot. What needs other rights is done where the second argument says so: "ids" or "root". It says "ready", and
writes to what it has opened when its standard input ends."""

import fcntl
import os
import signal
import stat
import sys

signal.signal(signal.SIGIO, signal.SIG_IGN)  # somebody wants a file that is leased
os.chdir(sys.argv[1])
may = sys.argv[2:]
held = os.open("held", os.O_RDWR)
me = os.geteuid()
os.seteuid(os.fstat(held).st_uid)  # whose a lease is must own the file
fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
os.seteuid(me)
written = os.open("open", os.O_RDWR)
os.chmod("set-id", 0o6755)
if "ids" in may:
    owner = os.stat("given")
    os.chown("given", owner.st_uid + 1, owner.st_gid + 1)
    os.chown("given-directory/file", owner.st_uid + 1, owner.st_gid + 1)
    os.chmod("given-directory", 0o700)
    os.chown("given-directory", owner.st_uid + 1, owner.st_gid + 1)
if "root" in may:
    os.chmod("foreign", 0o600)
    os.chown("foreign", 7654321, 7654321)
    os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod("disk", stat.S_IFBLK | 0o666, os.makedev(7, 0))
print("ready", flush=True)
sys.stdin.read()
os.pwrite(written, b"afterwards", 0)
