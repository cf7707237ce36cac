#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A name has one meaning: no struct is defined twice. Every file is packed, and nothing is left
# unfinished.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# shellcheck disable=SC2016 # awk's
product | xargs awk '/^struct berth_[a-z_]+ \{/ { print $2, FILENAME }' | sort | awk '
    $1 == name { print $2 ":1: struct " name " is in " file ", too" }
    { name = $1; file = $2 }' | rule 'a struct has a name of its own'

# What is not listed builds here, but not from the tarball; and a test that is not listed never
# runs.
{ product; find etc/profiles.d -name '*.yaml' | sort; } | while read -r file; do
    grep -qF "$file" Makefile.am || echo "$file:1: is not in Makefile.am"
done | rule 'every source file and profile is packed'

{
    grep -lE '^TEST(_ROWS|_TIMES)?\(' tests/unit/*.c | sed 's/[.]c$//'
    find tests/unit tests/spank tests/fuzz -name '*.sh' ! -name lib.sh ! -name corpus.sh
    grep -l 'tests/lint/lib.sh' tests/lint/*.sh | grep -vE '/(lib|checkers|commits)[.]sh$'
} | sort | while read -r test; do
    grep -qE "(^|[[:blank:]])$test( |$)" tests/check.am || echo "$test: is not in tests/check.am"
done | rule 'every test of make check runs'

# The brackets keep this file from finding itself.
written | xargs grep -nE '(^|[^A-Za-z])([F]IXME|[T]ODO)([^A-Za-z]|$)' /dev/null |
    sed -E 's/^([^:]*:[0-9]+:).*/\1 unfinished/' | rule 'nothing is marked as unfinished'

finish
