"""What the README shows."""

import doctest
import os
from pathlib import Path
from unittest import mock

from .support import Case


class ReadmeTest(Case):
    def test_examples(self) -> None:
        readme = Path(__file__).parent.parent / "README.md"
        examples = doctest.DocTestParser().get_doctest(readme.read_text(), {}, "README.md", str(readme), 0)
        self.assertGreater(len(examples.examples), 8)
        runner = doctest.DocTestRunner()
        said = []
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)  # it writes a script
        with mock.patch.dict(os.environ, self.environ):
            runner.run(examples, out=said.append)
        self.assertEqual(runner.failures, 0, "".join(said))
