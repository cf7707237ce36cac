#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files and functions that can be read in one go.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

c_files | xargs awk 'FNR == 601 {
    print FILENAME ":" FNR ": longer than 600 lines"
}' | rule 'no file is longer than 600 lines'

# A body starts with a brace in the first column; tables do not.
c_files | xargs awk '
    /^\{/ {
        start = FNR
    }
    /^\}/ && start {
        if (FNR - start > 80)
            print FILENAME ":" start ": a function of " FNR - start " lines; 80 at most"
        start = 0
    }' | rule 'no function is longer than 80 lines'

finish
