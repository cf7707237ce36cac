#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file says its licence, but for those whose form has no place for it.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

of_debian='packaging/deb/copyright|packaging/deb/source/format'
written | grep -vE "(\.md|(^|/)(NEWS|\.clang-format|\.gitkeep|\.keep|$of_debian))\$" | xargs awk '
    FNR <= 5 && /SPDX-License-Identifier: Apache-2\.0/ {
        has[FILENAME] = 1
    }
    END {
        for (i = 1; i < ARGC; i++)
            if (!(ARGV[i] in has))
                print ARGV[i] ":1: no line SPDX-License-Identifier: Apache-2.0"
    }' | rule 'every source file has its SPDX line'

finish
