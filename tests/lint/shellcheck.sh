#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shell scripts are clean.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

name='shellcheck finds nothing'
without shellcheck "$name" || shell_files | sort | xargs shellcheck -x -f gcc | rule "$name"

finish
