#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where and how this was written is nobody's business.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# The brackets keep this file from finding itself.
written | xargs grep -nE '/[w]ork/(main|shared|\.)' /dev/null |
    sed -E 's/^([^:]*:[0-9]+:).*/\1 a path of somebody'\''s workplace/' |
    rule 'no path of a workplace'

written | xargs grep -nE '(^|[^A-Za-z])([F]IXME|[T]ODO)([^A-Za-z]|$)' /dev/null |
    sed -E 's/^([^:]*:[0-9]+:).*/\1 unfinished/' | rule 'nothing is marked as unfinished'

finish
