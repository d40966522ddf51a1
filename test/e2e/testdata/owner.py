"""Does with the files of a run, which the first argument names, what their owner on the host can do: the others
cannot. The second says what: "held" leases the file of this name, "foreign" takes it away, "open" does everything else.
What needs other rights is done if the next arguments say so: "ids" or "root". It says "ready", and writes to what it
has opened when its standard input ends."""

import fcntl
import os
import signal
import stat
import sys

signal.signal(signal.SIGIO, signal.SIG_IGN)  # somebody wants a file that is leased
os.chdir(sys.argv[1])
task, may = sys.argv[2], sys.argv[3:]
written = os.open(task, os.O_RDWR)
if task == "held":
    me = os.geteuid()
    os.seteuid(os.fstat(written).st_uid)  # whose a lease is must own the file
    fcntl.fcntl(written, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    os.seteuid(me)
if task == "foreign":
    os.chmod("foreign", 0o600)
    os.chown("foreign", 7654321, 7654321)
if task == "open":
    os.chmod("set-id", 0o6755)
if task == "open" and "ids" in may:
    owner = os.stat("given")
    os.chown("given", owner.st_uid + 1, owner.st_gid + 1)
    os.chown("given-directory/file", owner.st_uid + 1, owner.st_gid + 1)
    os.chmod("given-directory", 0o700)
    os.chown("given-directory", owner.st_uid + 1, owner.st_gid + 1)
if task == "open" and "root" in may:
    os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod("disk", stat.S_IFBLK | 0o666, os.makedev(7, 0))
print("ready", flush=True)
sys.stdin.read()
if task == "open":
    os.pwrite(written, b"afterwards", 0)
