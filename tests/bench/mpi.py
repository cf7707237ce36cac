# SPDX-License-Identifier: Apache-2.0
"""The tables of tests/bench/mpi, fabric and libraries: reads lines of `SYSTEM SHAPE TEST BYTES
VALUE`. The systems `native` and `again` are those that the others are compared with. Its
arguments are the file, and what a SHAPE is."""

import collections
import statistics
import sys

STARTS = {"native": "on the host", "off": "in the image, its own MPI",
          "later": "in the image, --mpi-bind, a later step",
          "first": "in the image, --mpi-bind, the first step"}
UNITS = {"latency": "us", "allgather": "us", "alltoall": "us", "bandwidth": "MB/s",
         "hpl": "GF/s", "dgemm": "GF/s"}


def read(path):
    values = collections.defaultdict(list)
    failed = collections.Counter()
    for line in open(path, encoding="ascii"):
        system, shape, test, size, value = line.split()
        if test == "failed":
            failed[system, shape] += 1
        else:
            values[shape, test, int(size), system].append(float(value))
    return values, failed


def rows(values):
    """The systems that are compared with native runs; and of each measurement its name and
    unit, the median of all native runs, below and above which a tenth of them is, and the
    median of each system."""
    systems = list(dict.fromkeys(system for _, test, _, system in values if test != "start"
                                 and system not in ("native", "again")))
    found = []
    for shape, test, size in sorted({key[:3] for key in values if key[1] != "start"}):
        native = values[shape, test, size, "native"] + values[shape, test, size, "again"]
        medians = [statistics.median(runs) if runs else None
                   for runs in (values[shape, test, size, system] for system in systems)]
        if len(native) < 2 or not any(medians):
            continue
        tenths = statistics.quantiles(native, n=10, method="inclusive")
        found.append((f"{shape} {test} {size}", UNITS[test], statistics.median(native),
                      tenths[0], tenths[-1], medians))
    return systems, found


def table(what, systems, found):
    wide = max([28] + [len(name) for name, *_ in found])
    print(f"{what + ', test, bytes':<{wide}} {'native':>12}"
          + "".join(f" {system:>12} {'ratio':>6}" for system in systems) + f"  {'native runs':>12}")
    for name, unit, native, low, high, medians in found:
        print(f"{name:<{wide}} {native:9.2f} {unit:<4}"
              + "".join(f"{median:9.2f} {unit:<4}{median / native:5.2f} " if median
                        else f"{'-':>19} " for median in medians)
              + f"{low / native:7.2f} - {high / native:.2f}")


def starts(values):
    off = values["start", "start", 0, "off"]
    for system, title in STARTS.items():
        runs = values["start", "start", 0, system]
        if runs and off:
            wall = statistics.median(runs) / 1000
            added = wall - statistics.median(off) / 1000
            print(f"{title:<44} {wall:7.0f} ms {added:+7.0f} ms")


def main():
    path, what = sys.argv[1:]
    values, failed = read(path)
    systems, found = rows(values)
    table(what, systems, found)
    if values["start", "start", 0, "off"]:
        print()
        starts(values)
    for (system, shape), count in sorted(failed.items()):
        print(f"failed: {system} {shape}: {count} times")


main()
