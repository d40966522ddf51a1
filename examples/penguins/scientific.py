"""The analysis of measure.py with pandas and matplotlib: the same table, and boxplot.png.

Run it: scidex-oci run -f examples/penguins/scientific.yaml
"""

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

DATA = Path(os.environ.get("SCIDEX_DATA_DIR", "/data"))

MEASURES = {
    "bill_length_mm": "bill length (mm)",
    "bill_depth_mm": "bill depth (mm)",
    "flipper_length_mm": "flipper length (mm)",
    "body_mass_g": "body mass (g)",
}
FILL = {"female": "#e69f00", "male": "#56b4e9"}


def read_birds(path):
    """Return one row for each bird and measure; birds of unknown sex are a group of their own."""
    birds = pd.read_csv(path)
    birds["sex"] = birds["sex"].str.lower().fillna("unknown")
    return birds.melt(["species", "sex"], list(MEASURES), "measure")


def summarize(values):
    """Describe each species, sex and measure; a missing value is left out of its own measure only."""
    groups = values.groupby(["species", "sex", "measure"])["value"]
    table = groups.agg(["count", "mean", "std", "median", "min", "max"])
    table.insert(1, "missing", groups.size() - table["count"])
    table.insert(5, "q1", groups.quantile(0.25))
    table.insert(6, "q3", groups.quantile(0.75))
    return table.rename(columns={"count": "n", "std": "sd"}).reindex(list(MEASURES), level="measure")


def box_plot(path, values):
    figure, panels = plt.subplots(2, 2, figsize=(8.8, 6.8), layout="constrained")
    known = values[values["sex"].isin(FILL)].dropna()
    species = sorted(known["species"].unique())
    for axes, (measure, label) in zip(panels.flat, MEASURES.items()):
        for offset, (sex, fill) in zip((-0.2, 0.2), FILL.items()):
            part = known[(known["measure"] == measure) & (known["sex"] == sex)]
            boxes = axes.boxplot(
                [part.loc[part["species"] == name, "value"] for name in species],
                positions=[place + offset for place in range(len(species))],
                widths=0.3, patch_artist=True, medianprops={"color": "#222"},
            )
            plt.setp(boxes["boxes"], facecolor=fill)
            boxes["boxes"][0].set_label(sex)
        axes.set_xticks(range(len(species)), species)
        axes.set_ylabel(label)
        axes.grid(axis="y", color="#e3e3e3")
    figure.suptitle("Body measurements of penguins by species and sex")
    panels[0, 0].legend()
    figure.savefig(path, dpi=120)


def main():
    values = read_birds(DATA / "penguins.csv")
    table = summarize(values)
    table.to_csv("measurements.csv", float_format="%.12g", lineterminator="\n")
    box_plot("boxplot.png", values)
    print(table.xs("body_mass_g", level="measure")[["n", "mean", "sd"]].round(1).to_string())


if __name__ == "__main__":
    main()
