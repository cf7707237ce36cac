# SPDX-License-Identifier: Apache-2.0
# The sentences of manual pages (man/*.in) and documents (*.md): FILE:LINE, a tab, the
# number of words, a tab and the sentence. Without what is not read as a sentence: code,
# tables, headings, synopses and the terms of lists.

function flush(rest, count, words) {
    gsub(/[ \t]+/, " ", text)
    while (text != "") {
        sub(/^ /, "", text)
        rest = ""
        if (match(text, /[.!?][)"']*( |$)/)) {
            rest = substr(text, RSTART + RLENGTH)
            text = substr(text, 1, RSTART + RLENGTH - 1)
        }
        count = split(text, words, / +/)
        if (words[count] == "")
            count--
        if (count > 0)
            printf "%s:%d\t%d\t%s\n", file, begun, count, text
        text = rest
    }
}

function add(line) {
    if (text == "")
        begun = FNR
    text = text " " line
}

function manual(line) {
    if (line ~ /^\.(EX|nf|TS)/)
        skipped = 1
    if (line ~ /^\.(EE|fi|TE)/)
        skipped = 0
    if (line ~ /^\.SH/)
        synopsis = line ~ /SYNOPSIS|NAME$|SEE ALSO/
    if (skipped || synopsis || line ~ /^\.\\"/) {
        flush()
        return
    }
    if (term) {
        term = 0
        return
    }
    term = line ~ /^\.T[PQ]/
    if (line ~ /^\.(B|I|BR|BI|IR|IB|RB|RI) /)
        sub(/^\.[BIR]+ /, "", line)
    else if (line ~ /^\./) {
        flush()
        return
    }
    gsub(/\\f[BIRP]/, "", line)
    gsub(/\\-/, "-", line)
    gsub(/\\\(aq/, "'", line)
    gsub(/\\\(dq/, "\"", line)
    gsub(/\\[&:]/, "", line)
    add(line)
}

function document(line) {
    if (line ~ /^ *```/)
        skipped = !skipped
    if (skipped || line ~ /^ *```/ || line ~ /^(#|\|| *$|<|!\[)/) {
        flush()
        return
    }
    if (line ~ /^ *([-*]|[0-9]+\.) /) {
        flush()
        sub(/^ *([-*]|[0-9]+\.) /, "", line)
    }
    gsub(/\]\([^)]*\)/, "", line)
    gsub(/[[*]/, "", line)
    add(line)
}

FNR == 1 {
    flush()
    file = FILENAME
    skipped = synopsis = term = 0
}

file ~ /\.md$/ { document($0); next }
{ manual($0) }

END { flush() }
