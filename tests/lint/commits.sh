#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each commit says `area: do one thing` in 60 columns, and has a body that begins with the
# problem. Commits before this rule are left alone. tests/all runs it in a checkout.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

subject='subjects have an area and at most 60 columns'
body='commits have a body'
first=$(git log --diff-filter=A --format=%H -- tests/lint/commits.sh 2>/dev/null | tail -n 1)
if [ -z "$first" ]; then
    say ok "$subject # SKIP no history here"
    say ok "$body # SKIP no history here"
    finish
    exit
fi

git log --no-merges --format='%h %s' "$first..HEAD" >"$work/subjects"
awk '
    {
        text = substr($0, length($1) + 2)
        if (length(text) > 60)
            print "commit " $1 ":1: a subject of " length(text) " columns; 60 at most"
        else if (text !~ /^[A-Za-z0-9_.\/ ,-]+: [^ ]/)
            print "commit " $1 ":1: no area in: " text
    }' "$work/subjects" | rule "$subject"

git log --no-merges --format='%h' "$first..HEAD" | while read -r commit; do
    [ -n "$(git log -1 --format=%b "$commit")" ] || echo "commit $commit:1: has no body"
done | rule "$body"

finish
