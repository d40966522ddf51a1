"""taking.py COMMAND...: runs it and writes what it took to descriptor 3, as JSON.

In a process of its own, because the peak memory that the kernel tells of a command is never less than what the process
that started it had (ru_maxrss, getrusage(2))."""

import os
import sys
import time

begin = time.time()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
end = time.time()
told = '{"begin": %.6f, "end": %.6f, "cpu": %.6f, "memory": %d, "code": %d}'
code = os.waitstatus_to_exitcode(status)
os.write(3, (told % (begin, end, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, code)).encode())
