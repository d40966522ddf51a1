"""The analysis of correlate.py with numpy and matplotlib: the same tables, and heatmap.png.

Run it: scidex-oci run -f examples/brain-networks/scientific.yaml
"""

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

DATA = Path(os.environ.get("SCIDEX_DATA_DIR", "/data"))


def read_series(path):
    """Return the network and the name of every series, and the series as rows."""
    labels = np.loadtxt(path, delimiter=",", dtype=str, max_rows=3)[:, 1:]
    series = np.loadtxt(path, delimiter=",", skiprows=4)[:, 1:].T  # the fourth row names the index and is empty
    return labels[0], ["-".join(label) for label in labels.T], series


def fisher_mean(correlations):
    return np.tanh(np.arctanh(correlations).mean())


def network_matrix(matrix, networks, names):
    """Mean correlation of every pair of networks, of different series only."""
    different = ~np.eye(len(matrix), dtype=bool)
    of = {name: networks == name for name in names}
    return np.array([[fisher_mean(matrix[np.outer(of[a], of[b]) & different]) for b in names] for a in names])


def write_matrix(path, corner, names, matrix):
    with open(path, "w", newline="") as file:
        print(corner, *names, sep=",", file=file)
        for name, row in zip(names, matrix):
            print(name, *(f"{value:.12g}" for value in row), sep=",", file=file)


def heat_map(path, matrix, networks, names):
    figure, axes = plt.subplots(figsize=(8, 7), layout="constrained")
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    starts = np.array([np.argmax(networks == name) for name in names])
    ends = np.append(starts[1:], len(matrix))
    for edge in starts[1:] - 0.5:
        axes.axhline(edge, color="#222", linewidth=0.5)
        axes.axvline(edge, color="#222", linewidth=0.5)
    axes.set_xticks((starts + ends - 1) / 2, names)
    axes.set_yticks((starts + ends - 1) / 2, names)
    axes.set(xlabel="brain network", ylabel="brain network")
    axes.set_title(f"Resting-state correlations of {len(matrix)} brain regions in {len(names)} networks")
    figure.colorbar(image, label="Pearson correlation")
    figure.savefig(path, dpi=120)


def main():
    networks, nodes, series = read_series(DATA / "brain_networks.csv")
    names = list(dict.fromkeys(networks))
    matrix = np.corrcoef(series)
    means = network_matrix(matrix, networks, names)
    write_matrix("nodes.csv", "network-node-hemi", nodes, matrix)
    write_matrix("networks.csv", "network", names, means)
    heat_map("heatmap.png", matrix, networks, names)
    strongest = int(np.argmax(np.diag(means)))
    print(f"{len(series)} series of {series.shape[1]} time points in {len(names)} networks")
    print(f"most coherent network: {names[strongest]} (mean correlation {means[strongest, strongest]:.3f})")


if __name__ == "__main__":
    main()
