#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls that have no place in the product.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# calls NAMES WHY FILE...
calls()
{
    names=$1
    why=$2
    shift 2
    grep -nE "(^|[^A-Za-z0-9_])($names)\(" "$@" /dev/null |
        sed -E "s/^([^:]*:[0-9]+:).*[^A-Za-z0-9_]($names)\(.*/\1 \2(): $why/"
}

# shellcheck disable=SC2046 # names without blanks
{
    calls 'strcat|sprintf|vsprintf|gets|stpcpy|strncpy|strncat' 'has no bound' $(product)
    # A literal is its own bound.
    calls strcpy 'has no bound' $(product | xargs grep -LE 'strcpy\([a-z]+, "[^"]*"\)')
} | rule 'every copy has a bound'

# shellcheck disable=SC2046
{
    calls 'system|popen' 'starts a shell' $(product)
    calls 'tmpnam|mktemp|tempnam' 'is a race' $(product)
    calls 'strtok|asctime|ctime|gmtime|localtime' 'has one state for all' $(product)
    calls 'alloca' 'has no failure' $(product)
} | rule 'no call that others regret'

# shellcheck disable=SC2046
calls 'printf|puts|perror|abort|assert|signal' 'is not for a guest in slurmstepd' \
    $(find src/base src/elf src/mpi src/request src/site src/plan \
        src/image src/spank \
        -name '*.[ch]' 2>/dev/null) |
    rule 'a guest in slurmstepd prints and aborts nothing'

# shellcheck disable=SC2046
grep -nE 'getenv\("(BERTH_TEST|FAKE_)' $(product) /dev/null |
    sed -E 's/^([^:]*:[0-9]+:).*/\1 a knob for tests in the product/' |
    rule 'no knob for tests in the product'

finish
