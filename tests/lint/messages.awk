# SPDX-License-Identifier: Apache-2.0
# The sentences that the product can say: FILE:LINE, a tab and the longest piece of the
# format that is always the same, for each berth_err_set() and berth_err_at(). With
# `-v wrong=1` the piece is of what is wrong, in front of the remedy, where that has one;
# and what srun and tasks print by themselves counts, too.

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

# What is wrong, without what would be right, and without what each line begins with.
function wrong_of(text, parts, count, i) {
    sub(/^((%s: (error: )?)?berth: (%s: )?)?((warning|note): )?/, "", text)
    count = split(text, parts, "; ")
    for (i = 1; i < count; i++)
        if (length(longest(parts[i])) >= 6)
            return parts[i]
    return parts[count]
}

function line_of(at, head) {
    head = substr(all, 1, at)
    return gsub(/\n/, "\n", head) + 1
}

function tell(at, start, piece, call) {
    call = "berth_err_(set|at)\\([^,;{]*,"
    if (wrong)
        call = call "|slurm_(info|error|spank_log)\\(|fprintf\\(stderr,|dprintf\\(STDERR_FILENO,|berth_report_line\\([^,;{]*,[^,;{]*,"
    start = at
    while (match(substr(all, start), call)) {
        at = start + RSTART - 1
        start = at + RLENGTH
        piece = format_at(start)
        piece = longest(wrong ? wrong_of(piece) : piece)
        if (length(piece) >= 6 && (!wrong || piece ~ / /))
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
