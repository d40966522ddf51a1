#!/usr/bin/python3
"""matplotlib: pictures without a display, fonts found and remembered, and not a word of complaint."""

import os
import subprocess
import sys
import unittest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image

# As it was: matplotlib sets MPLCONFIGDIR where it does not like the one that it finds.
ENVIRONMENT = dict(os.environ)

# In a process of its own, so that all it says can be seen.
PLOT = r"""
import matplotlib.pyplot as plt, numpy as np, sys
x = np.linspace(0, 7, 200)
figure, (line, heat) = plt.subplots(1, 2, figsize=(8, 4), dpi=100)
line.plot(x, np.sin(x), label=r"$\sin(x)$ in µV")
line.legend()
heat.imshow(np.outer(x, x))
figure.savefig(sys.argv[1])
print(plt.get_backend())
"""


class Pictures(unittest.TestCase):
    def plot(self, name, environment=ENVIRONMENT, cwd=None):
        command = [sys.executable, "-c", PLOT, name]
        done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "agg\n", ""))
        return Path(name)

    def test_png(self):
        with Image.open(self.plot("/work/figure.png")) as picture:
            self.assertEqual((picture.format, picture.size), ("PNG", (800, 400)))
            self.assertGreater(len(set(picture.convert("RGB").getdata())), 500)

    def test_svg(self):
        root = ElementTree.parse(self.plot("/work/figure.svg")).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertGreater(len(root.findall(".//{*}path")), 20)

    def test_svg_is_the_same_in_every_run(self):
        def both(*how):
            return [self.plot("/work/figure.svg", *how).read_bytes() for _ in range(2)]

        first, second = both()
        self.assertEqual(first, second)
        without = {name: value for name, value in ENVIRONMENT.items() if name != "MATPLOTLIBRC"}
        first, second = both(without)
        self.assertNotEqual(first, second)  # which is what the file is for
        own = Path("/tmp/own")
        own.mkdir()
        (own / "matplotlibrc").write_text("savefig.facecolor: 123456\n")
        first, second = both(ENVIRONMENT, own)
        self.assertIn(b"#123456", first)  # the matplotlibrc of the working directory comes first
        self.assertNotEqual(first, second)

    def test_pdf(self):
        pdf = self.plot("/work/figure.pdf").read_bytes()
        self.assertTrue(pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF"))
        self.assertTrue(b"DejaVuSans" in pdf)

    def test_font_cache(self):
        self.plot("/tmp/figure.png")
        self.assertEqual([f.suffix for f in Path.home().glob(".config/matplotlib/fontlist-*")], [".json"])

    def test_animation(self):
        from matplotlib import animation, pyplot

        figure, axes = pyplot.subplots(figsize=(2, 2))
        (line,) = axes.plot(np.arange(5))
        frames = animation.FuncAnimation(figure, lambda n: line.set_ydata(np.arange(5) * n), frames=4)
        frames.save("/work/moving.gif", writer="pillow")
        with Image.open("/work/moving.gif") as picture:
            self.assertEqual(picture.n_frames, 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
