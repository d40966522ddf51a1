#!/usr/bin/python3
"""golden.py FILE...: writes FILE.txt, the text that nbconvert shows of each notebook, cell by cell.

TestNotebooksOfOthers compares it with the page's. Needs Debian's python3-nbconvert.
"""

import re
import sys
from pathlib import Path

from bs4 import BeautifulSoup
from nbconvert import HTMLExporter


def text(node):
    """Return the words of a part of the page, and where images stand."""
    for gone in node.select("a.anchor-link, style, script"):
        gone.extract()
    for image in node.select("img, svg"):
        image.replace_with(" [image] ")
    return " ".join(node.get_text("" if node.name == "pre" else "\x00").replace("\x00", "").split())


def lines(html):
    """Yield a line for each cell and each output."""
    for cell in BeautifulSoup(html, "html.parser").select("div.jp-Cell"):
        prompt = cell.select_one(".jp-InputPrompt")
        source = cell.select_one(".jp-InputArea .highlight, .jp-RenderedMarkdown, .jp-InputArea pre")
        yield " ".join(filter(None, ["cell", number(prompt), text(source) if source else ""]))
        for output in cell.select(".jp-OutputArea-child"):
            prompt = output.select_one(".jp-OutputPrompt")
            shown = output.select_one(".jp-OutputArea-output")
            if shown and text(shown):
                yield " ".join(filter(None, ["output", number(prompt), text(shown)]))


def number(prompt):
    found = prompt and re.search(r"\[(\d+)\]", prompt.get_text())
    return found.group(1) if found else ""


def main():
    for name in sys.argv[1:]:
        html, _ = HTMLExporter().from_filename(name)
        Path(name).with_suffix(".txt").write_text("\n".join(lines(html)) + "\n")


if __name__ == "__main__":
    main()
