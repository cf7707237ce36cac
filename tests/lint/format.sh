#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lines: how long they are, and how they end. checkers.sh asks the formatter.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# shellcheck disable=SC2016 # awk's
c_files | xargs awk 'length($0) > 88 {
    print FILENAME ":" FNR ": longer than 88 columns"
}' | rule 'no line is longer than 88 columns'

name='Python is of version 3.6, with lines of 88 columns at most'
if ! without python3 "$name"; then
    python3 - share/berth/qualify share/berth/crun-bundle tests/unit/qualify.py <<'END' 2>&1 |
import ast, sys
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    ast.parse(text, path, **({"feature_version": (3, 6)} if sys.version_info > (3, 8) else {}))
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > 88 or line.rstrip() != line:
            print("%s:%d: longer than 88 columns, or a blank at the end" % (path, number))
END
        rule "$name"
fi

# Those of clusters have some left.
# shellcheck disable=SC2016 # awk's
shell_files | grep -v '^tests/cluster/' | xargs awk 'length($0) > 100 {
    print FILENAME ":" FNR ": longer than 100 columns"
}' | rule 'no line of shell is longer than 100 columns'

{ c_files; shell_files; } | xargs grep -nE '[[:blank:]]$' |
    sed -E 's/^([^:]*:[0-9]+:).*/\1 blank at the end/' | rule 'no line ends in a blank'

finish
