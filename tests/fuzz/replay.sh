#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The fuzz targets on a small corpus, so that they keep working and their findings stay
# found; `make fuzz` is the real thing.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
status=0
number=0

sh "${srcdir:-.}/tests/fuzz/corpus.sh" "$work" || echo '# no corpus'
for target in answers closure elf mount wire words yaml; do
    number=$((number + 1))
    if said=$("tests/fuzz/replay-$target" "$work/$target"/* 2>&1) &&
        [ "${said% inputs}" -gt 900 ]; then
        echo "ok $number - $target: $said"
    else
        echo "not ok $number - $target"
        echo "$said" | sed 's/^/# /'
        status=1
    fi
done
echo "1..$number"
exit $status
