#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scripts that run tests on real Slurm refuse words that they do not know, before they
# install or start anything. Speaks TAP.

tests=$(cd "${srcdir:-.}/tests" && pwd)
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

# words COMMAND...: with a limit, should it start what it must not.
words() { timeout 300 "$@" </dev/null; }

says 'tests/all prints what it takes' 0 'tests/all --only PATTERN' words "$tests/all" --help
says 'an unknown word' 2 "tests/all: '--olny' is not an option; see tests/all --help" words \
    "$tests/all" --olny x
says 'a pattern is missing' 2 'tests/all: --only needs a pattern' words "$tests/all" --every --only
says 'every passes its words on' 2 "tests/all: 'x' is not an option" words "$tests/every" x
for it in vm demo; do
    says "tests/$it says what it is" 0 'Debian 12' words "$tests/$it" --help
    says "tests/$it takes no words" 1 'Debian 12' words "$tests/$it" x
done
says 'a test of a cluster prints what it takes' 0 'usage: mistakes.t CLUSTER' words \
    "$tests/cluster/t/mistakes.t" --help
says 'a cluster that is not up' 2 "mistakes.t: no cluster 'not-up' is up" words \
    "$tests/cluster/t/mistakes.t" not-up
if [ "$(id -u)" = 0 ]; then
    says 'no stage of that name: the stages' 2 '    packages' words "$tests/all" --only nosuchstage
fi

finish
