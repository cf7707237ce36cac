#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Manual pages are well formed and say all that there is.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

name='mandoc finds nothing'
without mandoc "$name" || for page in man/*.in; do
    sed 's/@[A-Za-z_]*@/1/g' "$page" | mandoc -T lint -W warning |
        sed "s|^mandoc: <stdin>|$page|"
done | rule "$name"

name='text and tables fit 80 columns'
without groff "$name" || for page in man/*.in; do
    groff -t -man -T utf8 -P -c -rLL=78n "$page" 2>&1 >"$work/text" |
        grep -B1 "wider than" | sed "s|^|$page:1: |"
    sed -n '/^SYNOPSIS/,/^DESCRIPTION/p' "$work/text" | grep -n '‐$' |
        sed "s|^|$page:1: a word of SYNOPSIS is broken: |"
done | rule "$name"

page=man/spank_berth.8.in

# The options of the table, and those that the page writes; one a line.
in_table()
{
    sed -nE 's/.* = \{"((no-)?container-[a-z-]+|mpi-bind)",.*/\1/p' src/request/option.c | sort -u
}

in_page()
{
    sed 's/\\-/-/g; s/\\f[A-Z]//g' "$page" | grep -oE -- '--((no-)?container-[a-z-]+|mpi-bind)' |
        sed 's/^--//' | sort -u
}

in_table >"$work/table"
in_page >"$work/page"
comm -23 "$work/table" "$work/page" | sed "s|.*|$page:1: does not tell --&|" |
    rule 'every option is in the manual page'
comm -13 "$work/table" "$work/page" | sed "s|.*|$page:1: there is no --&|" |
    rule 'the manual page has no other options'
tr 'a-z-' 'A-Z_' <"$work/table" | sed 's/^/BERTH_/' | absent "$page" |
    sed "s|^|$page:1: does not tell |" |
    rule 'the variable of every option is in the manual page'
[ -s "$work/table" ] || echo 'src/request/option.c:1: no option was found' |
    rule 'the option table is read'

# The words of plugstack.conf.
sed 's/\\f[A-Z]//g; s/\\-/-/g' "$page" >"$work/plain"
sed -nE 's/.*after\(word, "([a-z_]+=)"\).*/\1/p' src/site/plugstack.c | absent "$work/plain" |
    sed "s|^|$page:1: does not tell |" | rule 'every setting is in the manual page'

# The keys of berth.yaml, in the manual and in the file that is shipped.
sed -nE 's/^ *\{"([a-z_.]+)", [a-z].*/\1/p' src/site/schema.c | sort >"$work/keys"
sed -nE 's/^\\fB([a-z_.]+)\\fR: .*/\1/p' man/berth.yaml.5.in | sort |
    comm -3 "$work/keys" - | sed 's|.*|man/berth.yaml.5.in:1: the table differs: &|' |
    rule 'the keys of berth.yaml are those of its manual page'
awk '/^[a-z]+:$/ { section = $1 } /^ *# [a-z_]+: / {
        sub(":", ".", section)
        key = $2
        sub(":", "", key)
        print (/^ / ? section : "") key
    }' etc/berth.yaml | sort | comm -3 "$work/keys" - |
    sed 's|.*|etc/berth.yaml:1: the table differs: &|' |
    rule 'the keys of berth.yaml are those of the shipped file'
[ "$(wc -l <"$work/keys")" -gt 20 ] || echo 'src/site/schema.c:1: few keys found' |
    rule 'the table of keys is read'

# The options that a rule may set are all of the table.
sed 's/\\-/-/g' man/berth.yaml.5.in | sed -n '/^.fBrules.fR:/,/^Default:/p' |
    grep -oE '(no-)?container-[a-z-]+|mpi-bind' | sort -u >"$work/rules"
comm -3 "$work/table" "$work/rules" | sed \
    's|.*|man/berth.yaml.5.in:1: the options of a rule differ: &|' |
    rule 'the options of a rule are those of the table'

# The names of variables that --export drops and that come back, and those that never do.
tr '\n' ' ' <src/request/capture.c |
    grep -oE 'PATTERNS\(("[^"]*",? *)+\)|berth_capture_denied\[\] = \{[^}]*\}' |
    grep -oE '"[^"]+"' | tr -d '"' >"$work/patterns"
absent "$work/plain" <"$work/patterns" | sed "s|^|$page:1: does not tell |" |
    rule 'every variable that is restored is in the manual page'
[ "$(wc -l <"$work/patterns")" -gt 40 ] || echo 'src/request/capture.c:1: few patterns found' |
    rule 'the patterns are read'

# berth-messages(7) against src: an entry quotes a message that there is, apart from names
# and numbers. Not every message has an entry: most need no more than their own line.
messages=man/berth-messages.7.in
sed -n '/^\.SH MESSAGES/,/^\.SH SEE/p' "$messages" | sed -n '/^\.T[PQ]$/{ n; p; }' >"$work/headings"
sed 's/\\fI[^\\]*\\f[BR]/\n/g; s/\\f[BR]//g; s/\\-/-/g' "$work/headings" >"$work/quoted"
{ product; echo etc/taskprolog-berth.sh; } | xargs cat | awk 'BEGIN { RS = "\001" }
    {
        gsub(/"([ \n\t\\]|BERTH_[A-Z_]+)*"/, "")
        gsub(/\\"/, "\"")
        print
    }' >"$work/texts"
grep -E '.{6}' "$work/quoted" | sed "s/^[' :]*//; s/ *$//" | absent "$work/texts" |
    sed "s|.*|$messages:1: no program says '&'|" |
    rule 'the messages in the manual page are those of the programs'
[ "$(wc -l <"$work/headings")" -gt 100 ] || echo "$messages:1: few entries found" |
    rule 'the entries of the manual page are read'

finish
