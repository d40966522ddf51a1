"""Body measurements of penguins by species and sex.

Reads penguins.csv (344 birds, with missing values) and writes to the working directory

  measurements.csv  for each species, sex and measure: how many birds have it (n), how many lack it
                    (missing), mean, sample standard deviation, median, quartiles, range
  boxplot.svg       the four measures as box plots

A missing value is left out of its own measure only: the bird still counts in the others. Birds of
unknown sex are a group of their own in the table and are not drawn. Quartiles interpolate linearly
between the ordered values (the default of R and numpy). Python 3.11, standard library only.
"""

import csv
import os
from math import ceil, floor
from pathlib import Path
from statistics import fmean, quantiles, stdev

DATA = Path(os.environ.get("SCIDEX_DATA_DIR", "/data"))

MEASURES = {
    "bill_length_mm": "bill length (mm)",
    "bill_depth_mm": "bill depth (mm)",
    "flipper_length_mm": "flipper length (mm)",
    "body_mass_g": "body mass (g)",
}
SEXES = {"FEMALE": "female", "MALE": "male", "": "unknown"}


def read_groups(path):
    """Return the birds (rows) of each species and sex that occurs."""
    groups = {}
    with open(path, newline="") as file:
        for bird in csv.DictReader(file):
            groups.setdefault((bird["species"], SEXES[bird["sex"]]), []).append(bird)
    return dict(sorted(groups.items()))


def summary(values, birds):
    """Describe the measured values of a group of so many birds."""
    q1, median, q3 = quantiles(values, n=4, method="inclusive")
    return {
        "n": len(values), "missing": birds - len(values), "mean": fmean(values), "sd": stdev(values),
        "median": median, "q1": q1, "q3": q3, "min": min(values), "max": max(values),
    }


def summarize(groups):
    """Return {(species, sex, measure): (summary, values)}."""
    result = {}
    for (species, sex), birds in groups.items():
        for measure in MEASURES:
            values = [float(bird[measure]) for bird in birds if bird[measure]]
            result[species, sex, measure] = summary(values, len(birds)), values
    return result


def write_table(path, result):
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        for number, (key, (stats, _)) in enumerate(result.items()):
            if number == 0:
                table.writerow(["species", "sex", "measure", *stats])
            table.writerow([*key, *(f"{value:.12g}" for value in stats.values())])


# The picture: one panel for each measure, one pair of boxes for each species.

FILL = {"female": "#e69f00", "male": "#56b4e9"}
PANEL_W, PANEL_H, BOX = 330, 230, 34


def text(x, y, words, size=12, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{more}>{words}</text>'


def ticks(low, high):
    """Round numbers that span low to high, four to ten steps."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if (high - low) / s <= 8)
    return list(range(floor(low / step) * step, ceil(high / step) * step + 1, step))


def box(x, y_of, stats, values, fill):
    """A box of the quartiles, whiskers to the last value within 1.5 of its height, other values as rings."""
    reach = 1.5 * (stats["q3"] - stats["q1"])
    inside = [v for v in values if stats["q1"] - reach <= v <= stats["q3"] + reach]
    low, high = y_of(min(inside)), y_of(max(inside))
    q1, median, q3 = (y_of(stats[name]) for name in ("q1", "median", "q3"))
    cap = BOX / 4
    yield (
        f'<path stroke="#222" fill="none" d="M{x:.1f} {low:.1f}V{q1:.1f}M{x:.1f} {q3:.1f}V{high:.1f}'
        f'M{x - cap:.1f} {low:.1f}h{2 * cap}M{x - cap:.1f} {high:.1f}h{2 * cap}"/>'
    )
    yield (
        f'<rect x="{x - BOX / 2:.1f}" y="{q3:.1f}" width="{BOX}" height="{q1 - q3:.1f}"'
        f' fill="{fill}" stroke="#222"/>'
    )
    yield f'<path stroke="#222" stroke-width="2.2" d="M{x - BOX / 2:.1f} {median:.1f}h{BOX}"/>'
    for value in sorted(set(values) - set(inside)):
        yield f'<circle cx="{x:.1f}" cy="{y_of(value):.1f}" r="2.6" fill="none" stroke="#222"/>'


def panel(left, top, measure, result):
    drawn = {key: value for key, value in result.items() if key[2] == measure and key[1] in FILL}
    marks = ticks(min(s["min"] for s, _ in drawn.values()), max(s["max"] for s, _ in drawn.values()))

    def y_of(value):
        return top + PANEL_H - (value - marks[0]) / (marks[-1] - marks[0]) * PANEL_H

    for mark in marks:
        yield f'<path stroke="#e3e3e3" d="M{left} {y_of(mark):.1f}h{PANEL_W}"/>'
        yield text(left - 8, y_of(mark) + 4, f"{mark:,}", 11, "end")
    yield f'<path stroke="#222" fill="none" d="M{left} {top}v{PANEL_H}h{PANEL_W}"/>'
    turned = f' transform="rotate(-90 {left - 54} {top + PANEL_H / 2})"'
    yield text(left - 54, top + PANEL_H / 2, MEASURES[measure], 13, more=turned)
    species = sorted({key[0] for key in drawn})
    for place, name in enumerate(species):
        middle = left + PANEL_W * (place + 0.5) / len(species)
        yield text(middle, top + PANEL_H + 18, name)
        for side, sex in zip((-0.62, 0.62), FILL):
            stats, values = drawn[name, sex, measure]
            yield from box(middle + side * BOX, y_of, stats, values, FILL[sex])


def box_plot(result):
    width, height = 880, 684
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="DejaVu Sans, Helvetica, Arial, sans-serif" fill="#222" role="img">',
        "<title>Body measurements of penguins by species and sex</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        text(width / 2, 28, "Body measurements of penguins by species and sex", 15),
    ]
    for place, (sex, fill) in enumerate(FILL.items()):
        x = width / 2 - 90 + 110 * place
        parts.append(f'<rect x="{x}" y="44" width="14" height="14" fill="{fill}" stroke="#222"/>')
        parts.append(text(x + 21, 56, sex, anchor="start"))
    for place, measure in enumerate(MEASURES):
        parts += panel(80 + 440 * (place % 2), 80 + 290 * (place // 2), measure, result)
    note = "box: quartiles and median; whiskers: last value within 1.5 box heights; rings: values beyond"
    return "\n".join([*parts, text(width / 2, height - 18, note, 11), "</svg>", ""])


def main():
    groups = read_groups(DATA / "penguins.csv")
    result = summarize(groups)
    write_table("measurements.csv", result)
    Path("boxplot.svg").write_text(box_plot(result), encoding="utf-8")

    birds = sum(len(group) for group in groups.values())
    unknown = sum(len(group) for (_, sex), group in groups.items() if sex == "unknown")
    missing = sum(stats["missing"] for stats, _ in result.values())
    print(f"{birds} birds, {unknown} of unknown sex, {missing} measurements missing")
    print(f"{'body mass (g)':<20} {'n':>4} {'mean':>8} {'sd':>6}")
    for (species, sex, measure), (stats, _) in result.items():
        if measure == "body_mass_g":
            print(f"{species + ', ' + sex:<20} {stats['n']:>4} {stats['mean']:>8.1f} {stats['sd']:>6.1f}")


if __name__ == "__main__":
    main()
