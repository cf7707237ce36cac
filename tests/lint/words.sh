#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where and how this was written is nobody's business; and documents say it as
# slurm.conf(5) would.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# The brackets keep this file from finding itself.
written | xargs grep -nE '/[w]ork/(main|shared|\.)' /dev/null |
    sed -E 's/^([^:]*:[0-9]+:).*/\1 a path of somebody'\''s workplace/' |
    rule 'no path of a workplace'

written | xargs grep -nE '(^|[^A-Za-z])([F]IXME|[T]ODO)([^A-Za-z]|$)' /dev/null |
    sed -E 's/^([^:]*:[0-9]+:).*/\1 unfinished/' | rule 'nothing is marked as unfinished'

# What slurm.conf(5) would not say, and what it would; outside of code.
avoided()
{
    cat <<'END'
a line (says|names|tells|has)|prints, lists, see
a python|Python
any more|no longer
as ever|as usual
behind|after
comes? along|is copied, is mounted
faults?|error
for ever|forever
for each node|per node
in front of|before
(it|that|this|which) is no|is not a
is said|prints, see
speaks?|uses, supports
stands? for|replaces
tells? how|see
the own|their own
without a word|silently
words?|option, argument, flag
END
}
avoided >"$work/avoided"
# Each prints FILE:LINE:TEXT of what people read: documents outside of code, manuals,
# the comments of headers, and messages, --help and other literals of C.
markdown()
{
    awk '
        /^ *```/ || FNR == 1 { code = /^ *```/ && !(code && FNR > 1) }
        !code && !/^    / { gsub(/`[^`]*`/, ""); print FILENAME ":" FNR ":" $0 }' "$@"
}
# `words` and `speaks` are members of JSON.
manuals()
{
    awk '{ gsub(/\\fB(words|speaks)\\fR/, ""); gsub(/\\f[BIRP]|\\/, ""); print FILENAME ":" FNR ":" $0 }' man/*.in
}
# The comments of files that a site copies.
settings()
{
    find etc -type f ! -name '*.swp' -exec awk '/^ *#/ { print FILENAME ":" FNR ":" $0 }' {} +
}
# `words` and `faults` are names in the code.
comments()
{
    # shellcheck disable=SC2016 # awk's
    product | grep '[.]h$' | xargs awk '
        FNR == 1 { inside = 0 }
        {
            text = inside ? $0 : ""
            if (!inside && (at = index($0, "/*"))) {
                text = substr($0, at)
                inside = 1
            }
            if (text ~ /[*][/]/)
                inside = 0
            gsub(/[Ww](ord|ORD)[sS]?|[Ff](ault|AULT)[sS]?/, "", text)
            if (text != "")
                print FILENAME ":" FNR ":" text
        }'
}
# A literal without a blank is a name, and one with a bar names a member of JSON.
literals()
{
    # shellcheck disable=SC2016 # awk's
    product | xargs awk '
        !/^#include/ {
            for (rest = $0; match(rest, /"([^"\\]|\\.)*"/); rest = substr(rest, RSTART + RLENGTH)) {
                text = substr(rest, RSTART, RLENGTH)
                if (text ~ / / && text !~ /^"[a-z]+[|]/)
                    print FILENAME ":" FNR ":" text
            }
        }'
}
# avoid <TEXTS: print FILE:LINE: TEXT of each.
avoid()
{
    awk -F'|' '
        FILENAME ~ /avoided$/ {
            better = $NF
            sub(/[|][^|]*$/, "")
            say[$0] = better
            any = any (any ? "|" : "") $0
            next
        }
        FNR == 1 { any = "(^|[^a-z])(" any ")([^a-z]|$)" }
        {
            text = tolower($0)
            sub(/^[^:]*:[0-9]*:/, "", text)
            if (text !~ any)
                next
            place = substr($0, 1, length($0) - length(text))
            for (word in say)
                if (match(text, "(^|[^a-z])(" word ")([^a-z]|$)"))
                    print place " \047" word "\047: say: " say[word]
        }' "$work/avoided" -
}
# shellcheck disable=SC2046 # names without blanks
markdown $(documents) ARCHITECTURE.md CONTRIBUTING.md SECURITY.md NEWS | avoid |
    rule 'documents say it as slurm.conf(5) would'
manuals | avoid | rule 'manuals say it so, too'
settings | avoid | rule 'and the files of etc'
comments | avoid | rule 'so do the comments of headers'
literals | avoid | rule 'and messages and --help'
# shellcheck disable=SC2016 # code of a document
printf 'x behind y\n```text\nbehind\n```\nsay `behind` or beforehand\n' >"$work/a.md"
[ "$(markdown "$work/a.md" | avoid | wc -l)" = 1 ] || echo 'tests/lint/words.sh:1: counts otherwise' |
    rule 'such words are found'

finish
