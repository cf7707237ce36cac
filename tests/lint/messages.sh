#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every sentence that the product can say is expected by a test. This sees whether the
# words are in a test, not whether the test gets them said.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"


# Adjacent literals of C are one text; escapes are what they stand for.
cat tests/unit/*.c tests/unit/*.sh tests/spank/*.sh 2>/dev/null |
    awk '{ all = all $0 "\n" }
        END {
            gsub(/"[ \n\t\\]*"/, "", all)
            gsub(/\\"/, "\"", all)
            gsub(/\\\\/, "\\", all)
            print all
        }' >"$work/tests"
product | xargs awk -f tests/lint/messages.awk >"$work/messages"

tab=$(printf '\t')
while IFS=$tab read -r place piece; do
    grep -qF -- "$piece" "$work/tests" ||
        grep -qxF -- "$piece" tests/lint/untested.txt ||
        echo "$place: no test expects '$piece'"
done <"$work/messages" | rule 'every sentence is expected by a test'

[ "$(wc -l <"$work/messages")" -gt 30 ] || echo 'src:1: too few sentences found' |
    rule 'the sentences are found'
grep -vE '^#' tests/lint/untested.txt | while read -r piece; do
    grep -qF -- "$tab$piece" "$work/messages" ||
        echo "tests/lint/untested.txt:1: nobody says '$piece' any more"
done | rule 'the list of untested sentences is short'

finish
