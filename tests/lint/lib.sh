# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For the scripts beside it: each checks rules of the house and speaks TAP. A rule reads
# the faults that were found, one `FILE:LINE: TEXT` a line. Works on a checkout and on an
# unpacked tarball, so it asks find and not git.

cd "${srcdir:-.}" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# Rules end pipes, so what they say is counted in a file.
: >"$work/results"

# say ok|'not ok' NAME
say()
{
    echo "$1" >>"$work/results"
    echo "$1 $(wc -l <"$work/results") - $2"
}

# rule NAME <FAULTS
rule()
{
    faults=$(cat)
    if [ -z "$faults" ]; then
        say ok "$1"
    else
        say 'not ok' "$1"
        printf '%s\n' "$faults" | sed 's/^/# /'
    fi
}

# without PROGRAM NAME: is PROGRAM missing, so that the rule is skipped?
without()
{
    command -v "$1" >/dev/null 2>&1 && return 1
    say ok "$2 # SKIP no $1 here"
}

# absent FILE <TEXTS: the TEXTS, one a line, that are nowhere in FILE.
absent()
{
    awk 'BEGIN { RS = "\001" } NR == 1 { all = $0; RS = "\n"; next } !index(all, $0)' "$1" -
}

# The last line of every script.
finish()
{
    echo "1..$(wc -l <"$work/results")"
    ! grep -q not "$work/results"
}

# C of the product; of the tests too. Not what a build inside the tree makes.
product()
{
    find src -name '*.[ch]' ! -name mark-bytes.h | sort
}

c_files()
{
    find src tests -name '*.[ch]' ! -name mark-bytes.h | sort
}

# What users and administrators read, apart from manual pages.
documents()
{
    echo README.md
    find doc -name '*.md' | sort
}

# Everything that is written by hand, without programs that a build inside the tree has
# left.
written()
{
    {
        find src tests man etc m4 doc packaging .github -type f \
            ! -name '*.o' ! -name '*.a' ! -name '*.so' \
            ! -name '*.log' ! -name '*.trs' ! -name '*.Po' \
            ! -name '*.Tpo' ! -name mark-bytes.h \
            ! -name 'berth*.[1578]' ! -name spank_berth.8 \
            ! -name .dirstamp 2>/dev/null
        for file in Makefile.am configure.ac autogen.sh .clang-format *.md NEWS; do
            [ ! -f "$file" ] || echo "$file"
        done
    } | xargs grep -L "^$(printf '\177ELF')"
}

# Scripts of a shell, whatever their names.
shell_files()
{
    written | xargs awk 'FNR == 1 && (FILENAME ~ /\.sh$/ || /^#!.*[\/ ](ba|da)?sh( |$)/) {
        print FILENAME
    }'
}
