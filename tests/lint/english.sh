#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Manual pages and documents are read once: their sentences are short. A sentence that is
# found here says two things; make two of it, or a list.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

longest=34
mean=19

{ documents; find man -name '*.in'; } |
    xargs awk -f tests/lint/sentences.awk >"$work/sentences"

awk -F'\t' -v most=$longest '$2 > most { print $1 ": " $2 " words: " substr($3, 1, 70) }' \
    "$work/sentences" | rule "no sentence has more than $longest words"

awk -F'\t' -v most=$mean '
    { file = $1; sub(/:.*/, "", file); words[file] += $2; count[file]++ }
    END {
        for (file in words)
            if (words[file] >= most * count[file])
                printf "%s:1: %.1f words in a sentence\n", file, words[file] / count[file]
    }' "$work/sentences" | rule "the mean sentence has less than $mean words, in every file"

[ "$(wc -l <"$work/sentences")" -gt 1000 ] || echo 'doc:1: few sentences found' |
    rule 'the sentences are found'
fence=$(printf '\140\140\140')
printf 'One. Two [a b](c) three.\n\n%s\na b c.\n%s\n- Four, (five.)\n' "$fence" "$fence" >"$work/a.md"
printf '.SH NAME\nx\n.SH A\n\\fBOne\\fR.\n.TP\nterm\nTwo\n.B three\nfour.\n.EX\ncode.\n.EE\n' >"$work/b.in"
[ "$(awk -f tests/lint/sentences.awk "$work/a.md" "$work/b.in" | cut -f2 | paste -sd' ')" = '1 4 2 1 3' ] ||
    echo 'tests/lint/sentences.awk:1: counts otherwise' | rule 'sentences are counted as they are read'

finish
