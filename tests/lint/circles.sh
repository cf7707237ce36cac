#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No two files of src call each other in a circle, so that each can be read alone; and no
# public function is defined twice.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# A definition begins in the first column with its type and name, and is not static; its
# body begins with a brace in the first column. Prints NAME FILE.
definitions()
{
    # shellcheck disable=SC2016 # awk's
    xargs awk '
        FNR == 1 { name = "" }
        /^[a-z].*[ *]berth_[a-z0-9_]+\(/ && !/^static / {
            name = $0
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
        }
        /;$/ { name = "" }
        /^\{/ && name != "" {
            print name, FILENAME
            name = ""
        }'
}

# calls DEFINITIONS <FILES: print FILE OTHER for each OTHER with a definition that FILE uses.
calls()
{
    # shellcheck disable=SC2016 # awk's
    xargs awk -v definitions="$1" '
        BEGIN {
            while ((getline line <definitions) > 0) {
                split(line, pair, " ")
                home[pair[1]] = pair[2]
            }
        }
        {
            rest = $0
            while (match(rest, /berth_[a-z0-9_]+/)) {
                other = home[substr(rest, RSTART, RLENGTH)]
                rest = substr(rest, RSTART + RLENGTH)
                if (other != "" && other != FILENAME && !seen[FILENAME, other]++)
                    print FILENAME, other
            }
        }'
}

# in_circles: which of these files are in a circle; tsort(1) knows.
in_circles()
{
    tsort 2>&1 >/dev/null | sed -nE 's/^tsort: (src.*|.*\.c)$/\1:1: calls in a circle/p' | sort -u
}

sources=$(product | grep '[.]c$')
printf '%s\n' "$sources" | definitions | sort >"$work/definitions"
printf '%s\n' "$sources" | calls "$work/definitions" | in_circles | rule 'no circle of files'

awk '$1 == name { print $2 ":1: " name "() is in " file ", too" } { name = $1; file = $2 }' \
    "$work/definitions" | rule 'a public function has a name of its own'

# What would be found.
[ "$(wc -l <"$work/definitions")" -gt 500 ] || echo 'src:1: few functions were found' |
    rule 'the functions are found'
[ "$(printf 'a.c b.c\nb.c a.c\nc.c a.c\n' | in_circles | wc -l)" = 2 ] ||
    echo 'tests/lint/circles.sh:1: does not see a circle' | rule 'a circle would be found'

finish
