#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file says its licence, but for those whose form has no place for it.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

written | grep -vE '(\.md|(^|/)(NEWS|\.clang-format|\.gitkeep|\.keep|packaging/deb/copyright|packaging/deb/source/format))$' | while read -r file; do
    head -n 5 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' ||
        echo "$file:1: no line SPDX-License-Identifier: Apache-2.0"
done | rule 'every source file has its SPDX line'

finish
