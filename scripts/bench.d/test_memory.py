"""Tests of what scripts/bench counts as memory."""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import memory  # noqa: E402 - no package


class Counting(unittest.TestCase):
    def test_what_is_in_shared_memory_is_counted_by_its_files(self):
        text = "00400000-7ffd ---p 00000000 00:00 0    [rollup]\nRss: 90 kB\nPss: 50 kB\nPss_Shmem: 20 kB\n"
        self.assertEqual(memory.rollup(text), 30 * 1024)

    def test_a_file_in_memory_counts_whole_and_once(self):
        if not hasattr(os, "memfd_create"):
            self.skipTest("this Python makes no memfd")
        before = dict(memory.copies(os.getpid()))
        fd = os.memfd_create("copy")
        self.addCleanup(os.close, fd)
        os.write(fd, b"x" * (1 << 20))
        second = os.dup(fd)
        self.addCleanup(os.close, second)
        after = dict(memory.copies(os.getpid()))
        self.assertEqual([size for file, size in after.items() if file not in before], [1 << 20])

    def test_an_analysis_is_not_ours(self):
        tree = {1: ("scidex-oci", [2]), 2: ("scidex-oci", [3, 4]), 3: (memory.INIT, [5]), 4: (memory.INIT, []), 5: ("sleep", [6])}
        self.addCleanup(setattr, memory, "name", memory.name)
        self.addCleanup(setattr, memory, "children", memory.children)
        memory.name, memory.children = lambda p: tree[p][0], lambda p: tree[p][1]
        self.assertEqual(list(memory.ours(1)), [1, 2, 3, 4])
        self.assertEqual(memory.analyses(1), 1)


if __name__ == "__main__":
    unittest.main()
