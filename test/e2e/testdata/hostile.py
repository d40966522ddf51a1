"""Leaves what a harvest should fear. The arguments are files of the host that it must not read."""

import os
import resource
import socket
import sys


def file(path, content="harmless"):
    with open(path, "w") as f:
        f.write(content)


file("good.txt")
for number, secret in enumerate(sys.argv[1:]):
    os.symlink(secret, f"absolute-{number}")
    os.symlink("../../../../../../../.." + secret, f"relative-{number}")
    os.symlink("/proc/1/root" + secret, f"magic-{number}")
os.symlink("/etc/shadow", "shadow")
os.symlink("/proc/self/fd/0", "descriptor")
os.symlink("loop-b", "loop-a")
os.symlink("loop-a", "loop-b")
os.symlink(".", "here")
os.symlink("good.txt", "inside")
os.mkdir("swapped")
os.symlink("/", "swapped/root")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
file("one-name")
os.link("one-name", "other-name")
with open("sparse", "w") as f:
    f.truncate(resource.getrlimit(resource.RLIMIT_FSIZE)[0])  # as large as a file can be, and all of it a hole
file("mode-000")
os.chmod("mode-000", 0)
os.mkdir("closed")
file("closed/file")
os.chmod("closed/file", 0)
os.chmod("closed", 0)
os.mkdir("unreadable-but-open")
file("unreadable-but-open/file")
os.chmod("unreadable-but-open", 0o111)
for name in b"new\nline", b"esc\x1b[31mred", b"\xff\xfe", b"-rf", b" ", b"a" * 255, b"...", b"*", b"\\x41", "\u202egnp.exe".encode():
    with open(name, "w") as f:
        f.write("named")
os.remove("data")
file("data", "not the link")
os.mkdir("docs-not-ours")
os.mkdir("empty")
top = os.getcwd()
os.mkdir("deep")
os.chdir("deep")
for _ in range(5000):
    os.mkdir("d")
    os.chdir("d")
file("bottom")
os.chdir(top)
