#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Documents: every command is one that tests/cluster/t/manual.t can run, and links lead
# somewhere. tests/cluster/t/console.sh tells how a document is read.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# Where commands stand that no test of a cluster can run, and why.
not_run()
{
    cat <<'END'
README.md: an image with packages of Debian, which a cluster without network cannot get
doc/admin.md: dnf, and the build, which every test of a cluster does
doc/guide.md: a build in a home directory, which tests/cluster/t/home.t does
doc/network.md: there is no Cray
doc/workflows.md: Snakemake and Nextflow, which a cluster without network cannot get
END
}

# Every line with what it is in: FILE:LINE<tab>fence, text or the words of the fence<tab>LINE
documents | while read -r file; do
    awk -v OFS='\t' -v file="$file" '
        /^ *```/ && !inside { inside = 1; words = $0; sub(/^ *```/, "", words)
                              print file ":" FNR, "fence", words; next }
        /^ *```/ { inside = 0; next }
        { print file ":" FNR, inside ? words : "text", $0 }
        END { if (inside) print file ":" FNR, "open", "" }' "$file"
done >"$work/lines"
tab=$(printf '\t')

kinds='text|yaml|console( (fails|any-order|on=[a-z0-9,]+))*|sh not-run|[a-z]+ file=[^ ]+'
awk -F"$tab" -v kinds="^($kinds)\$" '$2 == "open" { print $1 ": a block that does not end" }
    $2 == "fence" && $3 !~ kinds {
        print $1 ": a block of a kind that nobody reads: " $3 }' "$work/lines" |
    rule 'every block is of a kind that is known'

programs='srun|sbatch|salloc|berth|apptainer|singularity'
awk -F"$tab" -v command="^    +([$#] |($programs) |#!)" '$2 == "text" && $3 ~ command {
        print $1 ": a command outside of a block is not run" }' "$work/lines" |
    rule 'commands stand in blocks'

awk -F"$tab" '$2 ~ /^console/ && $3 ~ /^ *[$#] / { n++ }
    END { if (n < 20) print "README.md:1: " n + 0 " commands found in all documents" }' \
        "$work/lines" |
    rule 'there are commands'

sed -nE "s/^([^:]*):([0-9]+)${tab}fence${tab}sh not-run$/\1 \2/p" "$work/lines" |
    while read -r file line; do
        not_run | grep -q "^$file: " || echo \
            "$file:$line: is not among the exceptions of tests/lint/docs.sh"
    done | rule 'what is not run is listed'
not_run | while read -r file reason; do
    grep -q "^${file}[0-9]*${tab}fence${tab}sh not-run" "$work/lines" ||
        echo "${file%:}:1: an exception that is not needed: $reason"
done | rule 'exceptions are needed'

# FILE:LINE: what a link names, seen from where it stands.
for file in ./README.md ./CONTRIBUTING.md ./SECURITY.md \
    $(find doc packaging -name '*.md' 2>/dev/null); do
    grep -noE '\]\([^)]*\)' "$file" | sed -E 's/:\]\(/ /; s/\)$//; s/#[^ ]*$//' |
        while read -r line target; do
            case $target in
                '' | http*) ;;
                *) [ -e "${file%/*}/$target" ] || echo "${file#./}:$line: leads nowhere: $target" ;;
            esac
        done
done | rule 'links lead somewhere'

finish
