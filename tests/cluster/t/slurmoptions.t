#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The table of Slurm's options (src/request/slurmoption.c) is that of srun, sbatch and salloc.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

version=$(alice srun --version)             # slurm-wlm 24.11.5
version=$(sed -E 's/.* ([0-9]+)\.([0-9]+).*/\1\2/' <<<"$version")

# The rows of this release: NAME LETTER NEED PROGRAMS, a row for each line.
table=$(sed -nE \
    's/^    \{"([^"]+)", (0|'"'(.)'"'), ([A-Z]+), ([A-Z| ]+), ([0-9]+), ([0-9A-Z]+)\},$/\1 \3 \4 \5,\6,\7/p' \
    "$here/../../../src/request/slurmoption.c" |
    sed -E 's/^([^ ]+)  /\1 - /; s/ ALL,/ SRUN|SBATCH|SALLOC,/; s/ [|] /|/g; s/STILL/9999/' |
    awk -v version="$version" '{
        split($4, releases, ",")
        if (releases[2] <= version && version < releases[3])
            print $1, $2, $3, tolower(releases[1])
    }')
equal "the table has rows of release $version" 1 "$(($(wc -l <<<"$table") > 100))"

# Reads lines PROGRAM NAME, and prints for each whether the program takes the argument after
# --NAME as its value (REQUIRED), one behind an equals sign (OPTIONAL), or NONE. srun says which
# option it does not know, and ends; those that end it before are tried with a value only.
script probe <<'SCRIPT'
#!/bin/bash
while read -r program name; do
    after=$("$program" "--$name" --wrong --another </dev/null 2>&1)
    behind=$("$program" "--$name=x" --wrong </dev/null 2>&1)
    need=REQUIRED
    if [[ $behind == *"--$name' doesn't allow an argument"* ]]; then
        need=NONE
    elif [[ $after == *"unrecognized option '--wrong'"* ]]; then
        need=OPTIONAL
    elif [[ $after == *"unrecognized option '--$name'"* || $after == *"'--$name' is ambiguous"* ]]; then
        need=UNKNOWN
    fi
    echo "$program --$name $need"
done
SCRIPT

while read -r name _ need programs; do
    for program in ${programs//|/ }; do
        echo "$program --$name $need"
    done
done <<<"$table" | sort >"$work/expected"
sed -E 's/ --([^ ]+) .*/ \1/' "$work/expected" | alice ./probe | sort >"$work/seen"
# Slurm can be built without X11.
grep -q -- '--x11 UNKNOWN' "$work/seen" && sed -i '/--x11 /d' "$work/expected" "$work/seen"
equal "each option takes its value as the program does" "" "$(diff "$work/expected" "$work/seen")"

# The help also has options that the program no longer knows (--power in 24.11), and those of
# plugins at its end.
for program in srun sbatch salloc; do
    awk -v program="$program" '$4 ~ program { print $1, $2 }' <<<"$table" | sort -u >"$work/table"
    alice "$program" --help | sed '/^Options provided by plugins/,$d' |
        sed -nE 's/^ {2,6}(-([A-Za-z]), )?--([a-z0-9_-]+).*/\3 \2/p' | sed -E 's/ $/ -/' |
        sort -u >"$work/help"
    comm -13 "$work/table" "$work/help" | sed -E "s/^([^ ]+) .*/$program \\1/" >"$work/missing"
    equal "the table has each option of $program --help, and its letter" "" \
        "$(alice ./probe <"$work/missing" | grep -v ' UNKNOWN$')"
done

finish
