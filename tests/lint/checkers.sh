#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What programs find that read all of C or of shell. They take longer than all that make
# check runs, so tests/all runs this after it.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# Another release may see it in another way, and a packager must not fail on that.
RELEASE=14

name='the formatter changes nothing'
if ! without clang-format "$name"; then
    found=$(clang-format --version | grep -oE 'version [0-9]+' | tr -dc 0-9)
    if [ "$found" = "$RELEASE" ]; then
        c_files | xargs clang-format --dry-run -Werror 2>&1 | grep 'error:' | rule "$name"
    else
        say ok "$name # SKIP it is release $found; $RELEASE decides"
    fi
fi

name='shellcheck finds nothing'
without shellcheck "$name" ||
    shell_files | xargs -P 2 -n 40 shellcheck -x -f gcc | rule "$name"

# It knows no cleanup attributes, through which a function frees what it owns, nor that a
# callee keeps a pointer no longer than the caller's frame lives; and it loses count of the
# table of options, which continues after BERTH_OPTION_COUNT.
name='cppcheck finds nothing'
without cppcheck "$name" ||
    product | grep '[.]c$' | xargs cppcheck -q -j 2 --std=c11 -Isrc \
    '-DSPANK_PLUGIN(name, version)=' \
        --enable=warning,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=memleak --suppress=autoVariables \
        --suppress=objectIndex --suppress=internalAstError \
        --suppress=arrayIndexOutOfBoundsCond:src/spank/local.c \
        --template='{file}:{line}: {message} [{id}]' 2>&1 |
    grep '^src/' | rule "$name"

finish
