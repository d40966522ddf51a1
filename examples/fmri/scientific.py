"""The analysis of timecourse.py with pandas, scipy and matplotlib: the same table, and timecourses.png.

Run it: scidex-oci run -f examples/fmri/scientific.yaml
"""

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

DATA = Path(os.environ.get("SCIDEX_DATA_DIR", "/data"))


def intervals(signals):
    """Return n, mean, standard deviation and the 95 % interval of the mean of every time point."""
    table = signals.groupby(["region", "event", "timepoint"])["signal"].agg(["count", "mean", "std"])
    table.columns = ["n", "mean", "sd"]
    half = stats.t.ppf(0.975, table["n"] - 1) * table["sd"] / np.sqrt(table["n"])
    table["ci_low"], table["ci_high"] = table["mean"] - half, table["mean"] + half
    return table


def line_plot(path, table):
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for (region, event), course in table.groupby(level=["region", "event"]):
        times = course.index.get_level_values("timepoint")
        (line,) = axes.plot(times, course["mean"], label=f"{region}, {event}")
        axes.fill_between(times, course["ci_low"], course["ci_high"], color=line.get_color(), alpha=0.2, linewidth=0)
    axes.axhline(0, color="#222", linewidth=0.6)
    axes.set(xlabel="time point", ylabel="signal", title="fMRI signal by region and event, with 95 % confidence intervals")
    axes.legend()
    figure.savefig(path, dpi=120)


def main():
    signals = pd.read_csv(DATA / "fmri.csv")
    if signals.duplicated(["subject", "region", "event", "timepoint"]).any():
        raise SystemExit("fmri.csv: more than one value for a subject, region, event and time point")
    table = intervals(signals)
    table.to_csv("timecourses.csv", float_format="%.12g", lineterminator="\n")
    line_plot("timecourses.png", table)
    peaks = table.loc[table.groupby(level=["region", "event"])["mean"].idxmax()]
    print("peak of the mean signal, with its 95 % interval over subjects")
    print(peaks.round(3).to_string())


if __name__ == "__main__":
    main()
