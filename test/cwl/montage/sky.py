#!/usr/bin/python3
"""sky.py DIR: writes a small sky to DIR, as the input of the workflow Montage: images, tables, and job.json, which names them.

In each of three bands two images overlap. The second is brighter all over by 40, which the workflow has to find and to level.
"""

import json
import math
import pathlib
import struct
import sys

STARS = [(20, 30, 900), (44, 52, 1500), (47, 20, 400), (70, 66, 700), (61, 35, 300)]  # x, y and brightness; a band has the first ones
REGION = 88, 80  # pixels of an arc second
MARGIN = 8  # of the larger region, in which the images are levelled
IMAGE = 56, 80
LEFT = 0, 31.5  # where the images start in the region
TABLES = {"images_tbl": "images", "projected_tbl": "projected", "corrected_tbl": "corrected", "diff_tbl": "diff", "statfile": "stat"}


def cards(bits, size, center):
    """The header of a plane that touches the sky at one point, which is the pixel center."""
    values = {"SIMPLE": "T", "BITPIX": bits, "NAXIS": 2, "NAXIS1": size[0], "NAXIS2": size[1], "CTYPE1": "'RA---TAN'",
              "CTYPE2": "'DEC--TAN'", "CRVAL1": 56.7, "CRVAL2": 24.0, "CRPIX1": center[0], "CRPIX2": center[1],
              "CDELT1": -1 / 3600, "CDELT2": 1 / 3600, "CROTA2": 0.0, "EQUINOX": 2000.0}  # fmt: skip
    return [f"{name:8}= {value:>20}" for name, value in values.items()] + ["END"]


def region(path, margin):
    size = [length + 2 * margin for length in REGION]
    path.write_text("\n".join(cards(-64, size, [(length + 1) / 2 for length in size])) + "\n")


def blocks(data, fill):
    """FITS has blocks of 2,880 bytes."""
    return data + fill * (-len(data) % 2880)


def image(path, left, background, stars):
    def pixel(x, y):
        return background + 0.2 * x + sum(peak * math.exp(-((x - a) ** 2 + (y - b) ** 2) / 4) for a, b, peak in stars)

    pixels = [pixel(x + left, y) for y in range(1, IMAGE[1] + 1) for x in range(1, IMAGE[0] + 1)]
    head = "".join(f"{card:80}" for card in cards(-32, IMAGE, ((REGION[0] + 1) / 2 - left, (REGION[1] + 1) / 2)))
    path.write_bytes(blocks(head.encode(), b" ") + blocks(struct.pack(f">{len(pixels)}f", *pixels), b"\0"))


def table(path, names, *rows):
    """A table of IPAC: names and types between bars, and rows below them."""
    types = [{int: "int", float: "double", str: "char"}[type(value)] for value in rows[0]]
    lines = ["".join(f"|{name:>24}" for name in line) + "|" for line in (names, types)]
    path.write_text("\n".join(lines + ["".join(f" {value:>24}" for value in row) + " " for row in rows]) + "\n")


def band(where, number, color):
    names = [f"{color}1.fits", f"{color}2.fits"]
    for i, name in enumerate(names):
        image(where / name, LEFT[i], 100.0 * number + 40 * i, STARS[: number + 2])
    size = [length + 2 * MARGIN for length in REGION]
    table(where / f"{number}-images.tbl", ["cntr", "ns", "nl", "crpix1", "crpix2", "fname"],
          *[(i, *size, (size[0] + 1) / 2, (size[1] + 1) / 2, name) for i, name in enumerate(names)])  # fmt: skip
    for kind in ("projected", "corrected"):
        table(where / f"{number}-{kind}.tbl", ["cntr", "fname"], *[(i, kind[0] + name) for i, name in enumerate(names)])
    # All pairs, each image and itself among them: Debian's cwltool fails where a step with loadContents is skipped, as it is for others.
    table(where / f"{number}-diff.tbl", ["cntr1", "cntr2", "plus", "minus", "diff"],
          *[(i, j, names[i], names[j], f"diff.{i:06}.{j:06}.fits") for i in (0, 1) for j in (0, 1)])  # fmt: skip
    table(where / f"{number}-stat.tbl", ["cntr1", "cntr2", "stat"], (0, 1, f"{number}-fit.000000.000001.txt"))
    files = {key: file(f"{number}-{kind}.tbl") for key, kind in TABLES.items()}
    return {"bid": number, "color": color, "images_fits": [file(name) for name in names], **files}


def file(name):
    return {"class": "File", "path": name}


def main(where):
    region(where / "region.hdr", 0)
    region(where / "region-oversized.hdr", MARGIN)
    bands = [band(where, number, color) for number, color in enumerate(("blue", "green", "red"), 1)]
    job = {"n_iter": 1000, "region": file("region.hdr"), "region_oversized": file("region-oversized.hdr"), "bands": bands}
    (where / "job.json").write_text(json.dumps(job, indent=1) + "\n")


main(pathlib.Path(sys.argv[1]))
