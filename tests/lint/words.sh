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
# avoid FILE...: print FILE:LINE: TEXT of each.
avoid()
{
    awk -F'|' '
        FILENAME ~ /avoided$/ { better = $NF; sub(/[|][^|]*$/, ""); say[$0] = better; next }
        /^ *```/ || FNR == 1 { code = /^ *```/ && !(code && FNR > 1) }
        code || /^    / { next }
        {
            text = tolower($0)
            gsub(/`[^`]*`/, "", text)
            for (word in say)
                if (match(text, "(^|[^a-z])(" word ")([^a-z]|$)"))
                    print FILENAME ":" FNR ": \047" word "\047: say: " say[word]
        }' "$work/avoided" "$@"
}
# shellcheck disable=SC2046 # names without blanks
avoid $(documents) ARCHITECTURE.md CONTRIBUTING.md SECURITY.md NEWS |
    rule 'documents say it as slurm.conf(5) would'
# shellcheck disable=SC2016 # code of a document
printf 'x behind y\n```text\nbehind\n```\nsay `behind` or beforehand\n' >"$work/a.md"
[ "$(avoid "$work/a.md" | wc -l)" = 1 ] || echo 'tests/lint/words.sh:1: counts otherwise' |
    rule 'such words are found'

finish
