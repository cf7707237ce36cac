# SPDX-License-Identifier: Apache-2.0
"""The table and the plot of tests/bench/launch. Its words are what the plot is over (tasks,
nodes, steps), a file with lines of `SYSTEM SHAPE WALL_US CPU_MS STATUS`, and the plot."""

import collections
import math
import statistics
import sys

SYSTEMS = ["bare", "job", "berth", "two", "instance", "exec", "sharens"]
TITLES = {"bare": "srun", "berth": "berth", "two": "berth, two images",
          "job": "berth, container of the job", "instance": "apptainer instance",
          "exec": "apptainer exec per task",
          "sharens": "apptainer exec --sharens"}
COLOURS = {"bare": "#777777", "berth": "#0a7d4f", "two": "#2471a3",
           "job": "#16a085", "instance": "#8e44ad",
           "exec": "#c0392b", "sharens": "#b9770e"}


WHAT = {"tasks": "a step of `true` on one node, milliseconds over tasks",
        "nodes": "a step of `true` on each node, milliseconds over nodes",
        "steps": "a later step of a job, milliseconds over tasks"}


def read(path):
    runs = collections.defaultdict(list)
    for line in open(path, encoding="ascii"):
        system, shape, wall, cpu, status = line.split()
        runs[system, shape].append((int(wall) / 1000, int(cpu), int(status)))
    return runs


def tasks_of(shape):
    nodes, tasks = shape.split("x")
    return int(nodes) * int(tasks)


def summary(runs):
    """Medians of the runs that succeeded; how many failed."""
    good = [run for run in runs if run[2] == 0]
    if not good:
        return None, None, len(runs)
    return (statistics.median(run[0] for run in good),
            statistics.median(run[1] for run in good), len(runs) - len(good))


def table(runs, shapes):
    print(f"{'shape':<6} {'system':<26} {'wall ms':>8} {'ratio':>6} {'ms/task':>8} "
          f"{'CPU ms':>8} {'CPU ms/task over bare':>22} {'failed':>8}")
    for shape in shapes:
        bare_wall, bare_cpu, _ = summary(runs["bare", shape])
        for system in SYSTEMS:
            if not runs[system, shape]:
                continue
            wall, cpu, failed = summary(runs[system, shape])
            count = f"{failed} of {len(runs[system, shape])}" if failed else ""
            if wall is None:
                print(f"{shape:<6} {TITLES[system]:<26} {'-':>8} {'-':>6} {'-':>8} "
                      f"{'-':>8} {'-':>22} {count:>8}")
                continue
            tasks = tasks_of(shape)
            print(f"{shape:<6} {TITLES[system]:<26} {wall:8.0f} {wall / bare_wall:6.2f} "
                  f"{wall / tasks:8.1f} {cpu:8.0f} {(cpu - bare_cpu) / tasks:22.1f} "
                  f"{count:>8}")


def svg(runs, shapes, over, path):
    """Wall time over tasks on one node or over nodes, both on logarithmic scales, a line
    a system."""
    width, height, left, low = 640, 400, 60, 50
    if over != "nodes":
        shapes = [shape for shape in shapes if shape.startswith("1x")]
    points = {system: [(tasks_of(shape), summary(runs[system, shape])[0])
                       for shape in shapes] for system in SYSTEMS}
    walls = [wall for line in points.values() for _, wall in line if wall]
    bottom = math.floor(math.log10(min(walls)))
    top = math.ceil(math.log10(max(walls)))
    widest = max(tasks_of(shape) for shape in shapes)

    def x(tasks):
        return left + 10 + (width - left - 30) * math.log(tasks, widest)

    def y(wall):
        return height - low - (height - low - 30) * (math.log10(wall) - bottom) / (top - bottom)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12">',
           '<!-- SPDX-License-Identifier: Apache-2.0 -->',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="18">wall time of {WHAT[over]} (medians)</text>',
           f'<path d="M{left} 30V{height - low}H{width - 20}" fill="none" '
           'stroke="black"/>']
    for tasks in (tasks_of(shape) for shape in shapes):
        out.append(f'<text x="{x(tasks)}" y="{height - low + 16}" '
                   f'text-anchor="middle">{tasks}</text>')
    for power in range(bottom, top + 1):
        out.append(f'<path d="M{left} {y(10 ** power):.1f}H{width - 20}" stroke="#dddddd"/>')
        out.append(f'<text x="{left - 6}" y="{y(10 ** power) + 4:.1f}" '
                   f'text-anchor="end">{10 ** power}</text>')
    systems = [system for system in SYSTEMS if any(runs[system, shape] for shape in shapes)]
    for row, system in enumerate(systems):
        line = [(x(t), y(w)) for t, w in points[system] if w]
        path_text = " ".join(f"{a:.1f},{b:.1f}" for a, b in line)
        out.append(f'<polyline points="{path_text}" fill="none" '
                   f'stroke="{COLOURS[system]}" stroke-width="2"/>')
        out.extend(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" '
                   f'fill="{COLOURS[system]}"/>' for a, b in line)
        failed = [shape for shape, (_, w) in zip(shapes, points[system])
                  if not w and runs[system, shape]]
        note = f" (failed with {', '.join(failed)})" if failed else ""
        out.append(f'<text x="{left + 20}" y="{50 + 16 * row}" '
                   f'fill="{COLOURS[system]}">{TITLES[system]}{note}</text>')
    out.append("</svg>")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(out) + "\n")


def main():
    over, data, plot = sys.argv[1:]
    runs = read(data)
    shapes = sorted({shape for _, shape in runs},
                    key=lambda shape: (int(shape.split("x")[0]), tasks_of(shape)))
    table(runs, shapes)
    svg(runs, shapes, over, plot)
    print(f"plot: {plot}")


main()
