#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests of a cluster: a word means the same in all of them, and none stands unused.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# helpers FILE...: print FILE:LINE:NAME of each function.
helpers()
{
    grep -nE '^[a-z_0-9]+\(\)' "$@" /dev/null | sed 's/().*//'
}

helpers tests/cluster/t/*.t tests/cluster/t/*.sh tests/cluster/machines.t | awk -F: '
    $3 in first {
        print $1 ":" $2 ": " $3 " is also in " first[$3] ": have one, in lib.sh, or another name"
    }
    { first[$3] = $1 ":" $2 }' | rule 'a helper of cluster tests has its name alone'

# Names of lib.sh that only their definition has.
helpers tests/cluster/t/lib.sh | awk '
    FILENAME == "-" { split($0, at, ":"); place[at[3]] = at[1] ":" at[2]; next }
    /^ *#/ { next }
    {
        sub(/^[a-z_0-9]+\(\)/, "")
        count = split($0, words, /[^A-Za-z0-9_-]+/)
        for (i = 1; i <= count; i++)
            used[words[i]]
    }
    END { for (name in place) if (!(name in used)) print place[name] ": nobody uses " name }
' - tests/cluster/t/*.t tests/cluster/t/*.sh tests/cluster/machines.t tests/cluster/packages \
    tests/bench/* |
    rule 'and every word of lib.sh is used'

finish
