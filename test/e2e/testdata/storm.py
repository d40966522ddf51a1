# Forks without end: eight processes whose children end at once, or start others by vfork.
import os

for _ in range(7):
    if os.fork() == 0:
        break
else:
    print("ready", flush=True)
while True:
    child = os.fork()
    if child == 0:
        if os.getpid() % 8 == 0:
            os.posix_spawn("/usr/bin/true", ["true"], {})
        os._exit(0)
    os.waitpid(child, 0)
