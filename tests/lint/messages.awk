# SPDX-License-Identifier: Apache-2.0
# The sentences that the product can say: FILE:LINE, a tab and the longest piece of the
# format that is always the same, for each berth_err_set(), berth_err_at() and
# berth_bindover_say().

function longest(text, pieces, count, i, best) {
    gsub(/%[-+ #0]*[0-9*]*(\.[0-9*]+)?(z|l|ll|h)?[a-zA-Z]/, "\001", text)
    count = split(text, pieces, "\001")
    best = ""
    for (i = 1; i <= count; i++) {
        gsub(/^[':;,. (]+|[':;,. )(]+$/, "", pieces[i])
        if (length(pieces[i]) > length(best))
            best = pieces[i]
    }
    return best
}

# The literals from AT of `all` on, up to the comma or bracket behind them. What is not a
# literal (a macro) ends a piece.
function format_at(at, text, c, inside) {
    text = ""
    inside = 0
    for (; at <= length(all); at++) {
        c = substr(all, at, 1)
        if (inside && c == "\\") {
            at++
            c = substr(all, at, 1)
            text = text (c == "n" ? "\001" : c)
        } else if (c == "\"") {
            inside = !inside
        } else if (inside) {
            text = text c
        } else if (c == "," || c == ")" || c == "?") {
            return text
        } else if (c ~ /[A-Z]/) {
            text = text "\001"
        }
    }
    return text
}

function line_of(at, head) {
    head = substr(all, 1, at)
    return gsub(/\n/, "\n", head) + 1
}

function tell(at, start, piece, said) {
    start = at
    said = "(berth_err_(set|at)\\([^,;{]*|berth_bindover_say\\([^;{\"]*\"[^\"]*\"),"
    while (match(substr(all, start), said)) {
        at = start + RSTART - 1
        start = at + RLENGTH
        piece = longest(format_at(start))
        if (length(piece) >= 6)
            printf "%s:%d\t%s\n", file, line_of(at), piece
    }
}

FNR == 1 && file {
    tell(1)
    all = ""
}

{
    file = FILENAME
    all = all $0 "\n"
}

END {
    tell(1)
}
