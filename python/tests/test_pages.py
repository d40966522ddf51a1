"""What the README and the pages on Python in docs show."""

import doctest
import os
from pathlib import Path
from unittest import mock

from .support import Case

TOP = Path(__file__).parent.parent.parent
PAGES = ["python/README.md", "docs/python.md", "docs/python-many.md", "docs/python-orchestrator.md"]


class PagesTest(Case):
    def test_examples(self) -> None:
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)  # one writes a script
        for page in PAGES:
            with self.subTest(page):
                examples = doctest.DocTestParser().get_doctest((TOP / page).read_text(encoding="utf-8"), {}, page, page, 0)
                self.assertGreater(len(examples.examples), 4)
                runner = doctest.DocTestRunner()
                said: "list[str]" = []
                with mock.patch.dict(os.environ, {**self.environ, "SCIDEX_OCI_ROOT": str(self.dir / page.replace("/", "-"))}):
                    runner.run(examples, out=said.append)
                self.assertEqual(runner.failures, 0, "".join(said))

    def test_all_are_tried(self) -> None:
        """A page of docs with an example is in the list."""
        shown = {f"docs/{page.name}" for page in (TOP / "docs").glob("*.md") if "\n>>> " in page.read_text(encoding="utf-8")}
        self.assertEqual(shown, set(PAGES) - {"python/README.md"})
