"""docs/reference/python.md says what the docstrings say."""

import unittest

import scidex_oci

from . import reference


class ReferenceTest(unittest.TestCase):
    def test_page(self) -> None:
        self.assertEqual(reference.PAGE.read_text(encoding="utf-8"), reference.page(), "write it anew: cd python && python3 -m tests.reference")

    def test_all_are_in_a_group(self) -> None:
        self.assertEqual(sorted(name for names in reference.GROUPS.values() for name in names), sorted(scidex_oci.__all__))
