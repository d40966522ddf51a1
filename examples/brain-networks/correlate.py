"""Correlations within and between brain networks, from resting-state fMRI time series.

Reads brain_networks.csv (62 series of 920 time points, three header rows: network, node, hemisphere)
and writes to the working directory

  nodes.csv     Pearson correlation of every pair of series (62 x 62)
  networks.csv  mean correlation within (diagonal) and between networks (17 x 17)
  heatmap.svg   the first matrix as a picture

Means of correlations are Fisher means: tanh(mean(atanh(r))). The correlation of a series with itself
is never part of a mean. Python 3.11, standard library only.
"""

import csv
import os
from math import atanh, fsum, sqrt, tanh
from operator import mul
from pathlib import Path

DATA = Path(os.environ.get("SCIDEX_DATA_DIR", "/data"))


def read_series(path):
    """Return the labels (network, node, hemisphere) and the time series, column by column."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    labels = [(int(net), int(node), hemi) for net, node, hemi in zip(*(row[1:] for row in rows[:3]))]
    for number, row in enumerate(rows[4:], start=5):  # row 4 names the index and is empty
        if len(row) != len(labels) + 1 or "" in row:
            raise SystemExit(f"{path.name}, line {number}: a value is missing")
    return labels, [[float(value) for value in column] for column in list(zip(*rows[4:]))[1:]]


def standardized(series):
    """Shift and scale a series to mean 0 and length 1, so that a dot product is a correlation."""
    mean = fsum(series) / len(series)
    centred = [value - mean for value in series]
    length = sqrt(fsum(map(mul, centred, centred)))
    return [value / length for value in centred]


def correlation_matrix(series):
    unit = [standardized(one) for one in series]
    size = len(unit)
    matrix = [[1.0] * size for _ in unit]
    for i in range(size):
        for j in range(i):
            matrix[i][j] = matrix[j][i] = fsum(map(mul, unit[i], unit[j]))
    return matrix


def fisher_mean(correlations):
    values = [atanh(r) for r in correlations]
    return tanh(fsum(values) / len(values))


def network_matrix(matrix, members):
    """Mean correlation of every pair of networks; `members` maps a network to its series."""
    return {
        (a, b): fisher_mean([matrix[i][j] for i in members[a] for j in members[b] if i != j])
        for a in members
        for b in members
    }


def write_matrix(path, corner, names, value):
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([corner, *names])
        for i, name in enumerate(names):
            table.writerow([name, *(f"{value(i, j):.12g}" for j in range(len(names)))])


# The picture.

CELL, LEFT, TOP = 10, 80, 78
STEPS = 20  # colour steps on either side of zero
COLD, MILD, HOT = (33, 78, 153), (247, 247, 245), (178, 24, 43)


def colour(step):
    end = HOT if step > 0 else COLD
    share = abs(step) / STEPS
    return "#" + "".join(f"{round(m + (e - m) * share):02x}" for m, e in zip(MILD, end))


def text(x, y, words, size=12, anchor="middle", more=""):
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"{more}>{words}</text>'


def cells(matrix):
    """One path for each colour: the matrix has thousands of cells but few colours."""
    squares = {}
    for i, row in enumerate(matrix):
        for j, r in enumerate(row):
            square = f"M{LEFT + j * CELL} {TOP + i * CELL}h{CELL}v{CELL}h-{CELL}z"
            squares.setdefault(round(r * STEPS), []).append(square)
    for step in sorted(squares):
        yield f'<path fill="{colour(step)}" d="{"".join(squares[step])}"/>'


def network_axes(members, size):
    """Numbers of the networks on both axes and lines where one network ends."""
    end = size * CELL
    for name, indices in members.items():
        middle = (indices[0] + indices[-1] + 1) / 2 * CELL
        yield text(LEFT + middle, TOP - 8, name)
        yield text(LEFT - 8, TOP + middle + 4, name, anchor="end")
        edge = (indices[-1] + 1) * CELL
        if edge < end:
            yield f'<path stroke="#222" stroke-width=".6" d="M{LEFT} {TOP + edge}h{end}M{LEFT + edge} {TOP}v{end}"/>'
    yield f'<rect x="{LEFT}" y="{TOP}" width="{end}" height="{end}" fill="none" stroke="#222"/>'
    yield text(LEFT + end / 2, TOP - 28, "brain network", 13)
    turned = f' transform="rotate(-90 34 {TOP + end / 2})"'
    yield text(34, TOP + end / 2, "brain network", 13, more=turned)


def colour_bar(x, height):
    tall = height / (2 * STEPS + 1)
    for k, step in enumerate(range(STEPS, -STEPS - 1, -1)):
        yield f'<rect x="{x}" y="{TOP + k * tall:.2f}" width="18" height="{tall + .5:.2f}" fill="{colour(step)}"/>'
    yield f'<rect x="{x}" y="{TOP}" width="18" height="{height}" fill="none" stroke="#222"/>'
    for r in (1, 0.5, 0, -0.5, -1):
        y = TOP + (STEPS - r * STEPS + 0.5) * tall
        yield text(x + 26, f"{y + 4:.2f}", f"{r:g}".replace("-", "\u2212"), anchor="start")
    turned = f' transform="rotate(-90 {x + 66} {TOP + height / 2})"'
    yield text(x + 66, TOP + height / 2, "Pearson correlation", 13, more=turned)


def heat_map(matrix, members):
    size = len(matrix)
    width, height = LEFT + size * CELL + 114, TOP + size * CELL + 30
    title = f"Resting-state correlations of {size} brain regions in {len(members)} networks"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="DejaVu Sans, Helvetica, Arial, sans-serif" fill="#222" role="img">',
        f"<title>{title}</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        text(LEFT + size * CELL / 2, 26, title, 15),
        '<g shape-rendering="crispEdges">', *cells(matrix), "</g>",
        *network_axes(members, size),
        *colour_bar(LEFT + size * CELL + 24, size * CELL),
        "</svg>", "",
    ])


def main():
    labels, series = read_series(DATA / "brain_networks.csv")
    members = {}
    for index, (network, _, _) in enumerate(labels):
        members.setdefault(network, []).append(index)
    matrix = correlation_matrix(series)
    means = network_matrix(matrix, members)
    names = list(members)

    write_matrix("nodes.csv", "network-node-hemi", [f"{a}-{b}-{c}" for a, b, c in labels], lambda i, j: matrix[i][j])
    write_matrix("networks.csv", "network", names, lambda i, j: means[names[i], names[j]])
    Path("heatmap.svg").write_text(heat_map(matrix, members), encoding="utf-8")

    pairs = [(i, j) for i in range(len(labels)) for j in range(i)]
    within = [matrix[i][j] for i, j in pairs if labels[i][0] == labels[j][0]]
    between = [matrix[i][j] for i, j in pairs if labels[i][0] != labels[j][0]]
    strongest = max(names, key=lambda name: means[name, name])
    print(f"{len(series)} series of {len(series[0])} time points in {len(names)} networks")
    print(f"mean correlation within networks   {fisher_mean(within):6.3f}  ({len(within)} pairs)")
    print(f"mean correlation between networks  {fisher_mean(between):6.3f}  ({len(between)} pairs)")
    print(f"most coherent network: {strongest} (mean correlation {means[strongest, strongest]:.3f})")


if __name__ == "__main__":
    main()
