#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# src is small enough to be read: src/budget has the lines that each folder may have.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

product | xargs awk '
    { split(FILENAME, part, "/"); lines[part[2]]++ }
    END { for (folder in lines) print folder, lines[folder] }' >"$work/lines"

awk '
    FILENAME ~ /lines$/ { lines[$1] = $2; next }
    /^#/ || NF == 0 { next }
    { known[$1] = 1; sum += $2 }
    lines[$1] > $2 { print "src/" $1 ":1: " lines[$1] " lines; src/budget has " $2 }
    END {
        for (folder in lines)
            if (!(folder in known))
                print "src/" folder ":1: has no budget in src/budget"
    }' "$work/lines" src/budget | rule 'no folder is over its budget'

awk '
    FILENAME ~ /budget$/ { known[$1] = $2; next }
    known[$1] - $2 > 100 { print "src/budget:1: " $1 " has " $2 " lines: lower its budget of " known[$1] }
    ' src/budget "$work/lines" | rule 'budgets follow what was deleted'

# shellcheck disable=SC2016 # awk's
product | xargs awk '/^struct berth_[a-z_]+ \{/ { print $2, FILENAME }' | sort | awk '
    $1 == name { print $2 ":1: struct " name " is in " file ", too" }
    { name = $1; file = $2 }' | rule 'a struct has a name of its own'

finish
