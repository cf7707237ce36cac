#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shell scripts are clean. This takes longer than any other test, so the build directory
# keeps what was clean, and a script is checked again when it has changed, or a file that
# others source, or shellcheck itself.

clean=$(pwd)/tests/lint/shellcheck.clean
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# sums: a line for each script, which differs when it has to be checked again.
sums()
{
    shell_files | sort >"$work/files"
    sourced=$({
        shellcheck --version
        xargs grep -l '^# shellcheck shell=' <"$work/files" | xargs cat
    } | cksum)
    xargs cksum <"$work/files" | sed "s/^/$sourced /" | sort
}

name='shellcheck finds nothing'
if ! without shellcheck "$name"; then
    sums >"$work/now"
    [ -e "$clean" ] || : >"$clean"
    comm -13 "$clean" "$work/now" | sed 's/.* //' |
        xargs -r -P 2 -n 40 shellcheck -x -f gcc | rule "$name"
    grep -q not "$work/results" || cp "$work/now" "$clean"
fi

finish
