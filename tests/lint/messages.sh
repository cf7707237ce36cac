#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every sentence that the product can say is expected by a test. This sees whether the
# words are in a test, not whether the test gets them said.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"


# Adjacent literals of C are one text; escapes are what they stand for; a line of an expected text
# that begins with eight blanks continues the one before.
cat tests/unit/*.c tests/unit/*.sh tests/spank/*.sh 2>/dev/null |
    awk 'BEGIN { RS = "\001" }
        {
            gsub(/"[ \n\t\\]*"/, "")
            gsub(/\\"/, "\"")
            gsub(/\\\\/, "\\")
            gsub(/\n        +/, " ")
            print
        }' >"$work/tests"
product | xargs awk -f tests/lint/messages.awk >"$work/messages"

# shellcheck disable=SC2016 # awk's
awk -F'\t' '
    FILENAME ~ /tests$/ { all = $0; next }
    FILENAME ~ /untested/ { untested[$0] = 1; next }
    !($2 in untested) && !index(all, $2) { print $1 ": no test expects \047" $2 "\047" }
    ' RS='\001' "$work/tests" RS='\n' tests/lint/untested.txt "$work/messages" |
    rule 'every sentence is expected by a test'

[ "$(wc -l <"$work/messages")" -gt 30 ] || echo 'src:1: too few sentences found' |
    rule 'the sentences are found'
awk -F'\t' '
    FILENAME ~ /messages$/ { said[$2] = 1; next }
    !/^#/ && !($0 in said) {
        print FILENAME ":" FNR ": nobody says \047" $0 "\047 any more"
    }' "$work/messages" tests/lint/untested.txt |
    rule 'the list of untested sentences is short'

# FILE:LINE: of the second, where two entries of the manual page begin alike.
awk '
    /^\.T[PQ]$/ { is_head = 1; next }
    is_head && /^\\fB/ && seen[$0]++ { print FILENAME ":" FNR ": a second entry for " $0 }
    { is_head = 0 }
    ' man/berth-messages.7.in | rule 'the manual page has one entry for a message'

finish
