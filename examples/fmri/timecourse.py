"""Time courses of an event-related fMRI signal, by region and event, with 95 % confidence intervals.

Reads fmri.csv (14 subjects, 19 time points, two regions, two events) and writes to the working directory

  timecourses.csv  for each region, event and time point: number of subjects, mean, sample standard
                   deviation over subjects, and the limits of the 95 % confidence interval of the mean
  timecourses.svg  the means as lines, the intervals as bands

The interval is mean +- t * sd / sqrt(n) with the 97.5 % quantile t of Student's distribution with n - 1
degrees of freedom. Python 3.11, standard library only.
"""

import csv
import os
from math import atan, ceil, cos, floor, pi, sin, sqrt
from pathlib import Path
from statistics import fmean, stdev

DATA = Path(os.environ.get("SCIDEX_DATA_DIR", "/data"))


def central_probability(t, freedom):
    """P(-t < T < t) for Student's T, by the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = atan(t / sqrt(freedom))
    odd = freedom % 2
    term = cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= cos(angle) ** 2 * (k - 1) / k
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def t_quantile(coverage, freedom):
    """The t with P(-t < T < t) = coverage, by bisection to the last bit."""
    low, high = 0.0, 1.0
    while central_probability(high, freedom) < coverage:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if central_probability(middle, freedom) < coverage:
            low = middle
        else:
            high = middle
    return high


def read_signals(path):
    """Return {(region, event): {timepoint: signals}}, one signal for each subject."""
    courses, seen = {}, set()
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            course, time = (row["region"], row["event"]), int(row["timepoint"])
            if (one := (row["subject"], *course, time)) in seen:
                raise SystemExit(f"{path.name}: more than one value for {one}")
            seen.add(one)
            courses.setdefault(course, {}).setdefault(time, []).append(float(row["signal"]))
    return {course: dict(sorted(courses[course].items())) for course in sorted(courses)}


def interval(signals):
    """Return n, mean, standard deviation and the limits of the 95 % interval of the mean."""
    n, mean, sd = len(signals), fmean(signals), stdev(signals)
    half = t_quantile(0.95, n - 1) * sd / sqrt(n)
    return {"n": n, "mean": mean, "sd": sd, "ci_low": mean - half, "ci_high": mean + half}


def write_table(path, result):
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["region", "event", "timepoint", "n", "mean", "sd", "ci_low", "ci_high"])
        for (region, event), course in result.items():
            for time, stats in course.items():
                table.writerow([region, event, time, *(f"{value:.12g}" for value in stats.values())])


# The picture: one panel for each region, one line for each event.

STYLE = {"cue": ("#d55e00", "6 4"), "stim": ("#0072b2", "none")}
PANEL_W, PANEL_H, TOP, STEP = 350, 300, 76, 0.1


def text(x, y, words, size=12, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{more}>{words}</text>'


def polyline(points):
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def curve(course, x_of, y_of, colour, dash):
    band = [(x_of(t), y_of(s["ci_high"])) for t, s in course.items()]
    band += [(x_of(t), y_of(s["ci_low"])) for t, s in reversed(course.items())]
    line = [(x_of(t), y_of(s["mean"])) for t, s in course.items()]
    yield f'<path d="{polyline(band)}Z" fill="{colour}" fill-opacity=".2"/>'
    yield f'<path d="{polyline(line)}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'


def panel(left, region, result, marks):
    """Draw one region; `marks` are the ticks of the shared vertical axis in steps of STEP."""
    courses = {event: course for (where, event), course in result.items() if where == region}
    times = sorted({time for course in courses.values() for time in course})

    def x_of(time):
        return left + (time - times[0]) / (times[-1] - times[0]) * PANEL_W

    def y_of(value):
        return TOP + (marks[-1] - value / STEP) / (marks[-1] - marks[0]) * PANEL_H

    for mark in marks:
        shade = "#888" if mark == 0 else "#e3e3e3"
        yield f'<path stroke="{shade}" d="M{left} {y_of(mark * STEP):.1f}h{PANEL_W}"/>'
        yield text(left - 8, y_of(mark * STEP) + 4, f"{mark * STEP:.1f}".replace("-", "\u2212"), 11, "end")
    for time in times[::3]:
        yield f'<path stroke="#222" d="M{x_of(time):.1f} {TOP + PANEL_H}v5"/>'
        yield text(x_of(time), TOP + PANEL_H + 19, time, 11)
    for event, course in courses.items():
        yield from curve(course, x_of, y_of, *STYLE[event])
    yield f'<path stroke="#222" fill="none" d="M{left} {TOP}v{PANEL_H}h{PANEL_W}"/>'
    yield text(left + PANEL_W / 2, TOP - 12, region, 13)
    yield text(left + PANEL_W / 2, TOP + PANEL_H + 42, "time point", 13)


def line_plot(result):
    width, height = 860, TOP + PANEL_H + 60
    limits = [stats[end] / STEP for course in result.values() for stats in course.values() for end in ("ci_low", "ci_high")]
    marks = range(floor(min(limits)), ceil(max(limits)) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="DejaVu Sans, Helvetica, Arial, sans-serif" fill="#222" role="img">',
        "<title>fMRI signal by region and event</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        text(width / 2, 28, "fMRI signal by region and event: mean and 95 % confidence interval", 15),
        text(22, TOP + PANEL_H / 2, "signal (arbitrary units)", 13, more=f' transform="rotate(-90 22 {TOP + PANEL_H / 2})"'),
    ]
    for place, region in enumerate(sorted({region for region, _ in result})):
        parts += panel(72 + 410 * place, region, result, marks)
    for place, (event, (colour, dash)) in enumerate(STYLE.items()):
        x, y = width - 120, TOP + 18 + 22 * place
        parts.append(f'<path d="M{x} {y - 9}h34v10h-34z" fill="{colour}" fill-opacity=".2"/>')
        parts.append(f'<path d="M{x} {y - 4}h34" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
        parts.append(text(x + 42, y, event, anchor="start"))
    return "\n".join([*parts, "</svg>", ""])


def main():
    result = {
        course: {time: interval(signals) for time, signals in times.items()}
        for course, times in read_signals(DATA / "fmri.csv").items()
    }
    write_table("timecourses.csv", result)
    Path("timecourses.svg").write_text(line_plot(result), encoding="utf-8")

    print("peak of the mean signal, with its 95 % interval over subjects")
    for (region, event), course in result.items():
        time, peak = max(course.items(), key=lambda item: item[1]["mean"])
        print(
            f"{region:<9} {event:<5} time point {time:>2}: {peak['mean']:6.3f}"
            f"  [{peak['ci_low']:.3f}, {peak['ci_high']:.3f}]  n = {peak['n']}"
        )


if __name__ == "__main__":
    main()
