#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The fuzz targets on a small corpus, so that they keep working and their findings stay
# found; `make fuzz` is the real thing.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
echo 1..4
status=0

# replay NUMBER NAME
replay()
{
    if said=$("tests/fuzz/replay-$2" "$work/$2"/* 2>&1) &&
        [ "${said% inputs}" -gt 900 ]; then
        echo "ok $1 - $2: $said"
    else
        echo "not ok $1 - $2"
        echo "$said" | sed 's/^/# /'
        status=1
    fi
}

sh "${srcdir:-.}/tests/fuzz/corpus.sh" "$work" || echo '# no corpus'
replay 1 elf
replay 2 closure
replay 3 wire
replay 4 mount
exit $status
