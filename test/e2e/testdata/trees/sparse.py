"""Leaves files that are nearly all hole, one of 8 TiB among them."""

import errno
import os
import resource

largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
assert largest == 8 << 40, largest
with open("eight", "w") as f:
    f.truncate(largest)
    f.seek(largest // 2)
    f.write("in the middle")
    try:
        f.truncate(largest + 1)
    except OSError as problem:
        assert problem.errno == errno.EFBIG, problem
    else:
        raise AssertionError("a file larger than the limit was made")
os.link("eight", "eight-too")
with open("hole", "w") as f:
    f.truncate(16 << 20)
with open("end", "w") as f:
    f.truncate((16 << 20) - 3)
    f.seek(0, os.SEEK_END)
    f.write("end")
assert sum(os.stat(name).st_blocks for name in os.listdir()) * 512 < 1 << 20
