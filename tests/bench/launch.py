# SPDX-License-Identifier: Apache-2.0
"""The table of tests/bench/launch. Its argument is a file with lines of `SYSTEM SHAPE WALL_US
CPU_MS STATUS`."""

import collections
import statistics
import sys

SYSTEMS = ["bare", "job", "berth", "plugin", "container", "run", "two", "instance", "exec",
           "sharens"]
TITLES = {"bare": "srun", "berth": "berth", "two": "berth, two images",
          "plugin": "--container, plugin",
          "container": "--container, no plugin",
          "run": "srun berth run",
          "job": "berth, container of the job", "instance": "apptainer instance",
          "exec": "apptainer exec per task",
          "sharens": "apptainer exec --sharens"}


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


def main():
    runs = read(sys.argv[1])
    table(runs, sorted({shape for _, shape in runs},
                       key=lambda shape: (int(shape.split("x")[0]), tasks_of(shape))))


main()
