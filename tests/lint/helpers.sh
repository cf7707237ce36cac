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
    $3 in first { print $1 ":" $2 ": " $3 " is also in " first[$3] ": have one, in lib.sh, or another name" }
    { first[$3] = $1 ":" $2 }' | rule 'a helper of cluster tests has its name alone'

# Names of lib.sh that only their definition has.
helpers tests/cluster/t/lib.sh | while IFS=: read -r file line name; do
    cat tests/cluster/t/*.t tests/cluster/t/*.sh tests/cluster/machines.t tests/cluster/packages tests/bench/* |
        sed -E "s/^ *#.*//; s/^$name\(\)//" | grep -qE "(^|[^A-Za-z0-9_-])$name([^A-Za-z0-9_-]|\$)" ||
        echo "$file:$line: nobody uses $name"
done | rule 'and every word of lib.sh is used'

finish
