# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Runs what a document shows: for tests that have sourced lib.sh. What a document may hold:
#
#   ```console [WORD]...      a session: after `$ ` a command of alice on the login host, after
#                             `# ` one of root; a line that ends in \ goes on in the next one.
#                             Each runs in a shell of its own, in the home directory. The lines
#                             that follow are its output, both streams. A command without any
#                             must succeed, and nobody looks at its output. How long a pull or
#                             a save took is left out ($took of lib.sh). `...` in a line
#                             stands for any text; a line `...` for any number of lines.
#         fails               the commands of this session end with a status that is not 0
#         any-order           the lines of an output come in any order: those of srun and of a node
#         do
#         on=HOST[,HOST]...   where root's commands run: n1, nodes, all; each shows the same
#   ```LANGUAGE file=PATH     a file that the commands use: alice's; a PATH that begins with /
#                             is root's, on every host. Executable if it begins with #!
#   ```sh not-run             commands that no test can run; tests/lint/docs.sh has the list
#   ```text, ```yaml          something to look at; no commands

# console_pattern LINE: the extended regular expression it stands for.
console_pattern() {
    # shellcheck disable=SC2001 # what is replaced is a class
    REPLY=$(sed 's/[][\\.^$*+?(){}|]/\\&/g' <<<"$1")
    REPLY=${REPLY//'\.\.\.'/$'[^\n]*'}
}

# console_in_order SEEN EXPECTED...
console_in_order() {
    local seen=$1$'\n' line pattern=^
    shift
    for line; do
        if [[ $line == ... ]]; then
            pattern+=$'([^\n]*\n)*'
        else
            console_pattern "$line"
            pattern+=$REPLY$'\n'
        fi
    done
    [[ $seen =~ $pattern$ ]]
}

# console_any_order SEEN EXPECTED...: each EXPECTED is one of the lines, and there are no more.
console_any_order() {
    local -a lines
    local line i more=''
    mapfile -t lines <<<"$1"
    shift
    for line; do
        if [[ $line == ... ]]; then
            more=yes
            continue
        fi
        console_pattern "$line"
        for i in "${!lines[@]}"; do
            [[ ${lines[i]} =~ ^$REPLY$ ]] || continue
            unset "lines[i]"
            continue 2
        done
        return 1
    done
    [[ -n $more || ${#lines[@]} -eq 0 ]]
}

# The job of the last command has ended and still has its nodes for a moment, so that the next
# one would be given others than the document shows. A job that runs may be meant to.
console_settle() {
    # shellcheck disable=SC2016 # for the login host
    alice bash -c 'for ((i = 0; i < 100; i++)); do
        [[ -n $(sinfo -h -t completing,allocated,mixed -o %n 2>/dev/null) ]] || break
        ((i < 5)) || [[ -z $(squeue -h -t running) ]] || break
        sleep 0.1
    done' </dev/null
}

# console_run PLACE WORDS COMMAND [LINE...]: one command, and what it should show.
console_run() {
    local place=$1 words=$2 prompt=${3:0:1} command=${3:2} compare=console_in_order
    local host hosts seen status wrong=''
    shift 3
    [[ $words != *any-order* ]] || compare=console_any_order
    hosts=login
    [[ ! $words =~ on=([a-z0-9,]+) ]] || hosts=${BASH_REMATCH[1]}
    hosts=${hosts/all/login,nodes}
    hosts=${hosts/nodes/$nodes}
    for host in ${hosts//,/ }; do
        if [[ $prompt == '$' ]]; then
            console_settle
            seen=$(alice bash -c "$command" 2>&1 </dev/null)
        else
            seen=$(on "$host" root timeout -k 10 "${LIMIT:-180}" bash -c "$command" 2>&1 </dev/null)
        fi
        status=$?
        # shellcheck disable=SC2001 # line by line
        # shellcheck disable=SC2154 # of lib.sh
        seen=$(sed -E "/$took/d; s/[[:space:]]*\$//" <<<"$seen")
        if [[ $words == *fails* ]]; then
            ((status)) || wrong+="$host: status 0, and it should fail"$'\n'
        else
            ((status == 0)) || wrong+="$host: status $status"$'\n'
        fi
        (($# == 0)) || "$compare" "$seen" "$@" ||
            wrong+="$host: expected:"$'\n'"$(printf '    %s\n' "$@")"$'\n'
        [[ -z $wrong ]] || wrong+="$host: shown:"$'\n'"    ${seen//$'\n'/$'\n    '}"$'\n'
    done
    command=${command//$'\\\n'/}
    if [[ -z $wrong ]]; then
        result ok "$place: ${command//  */ }"
    else
        result FAIL "$place: ${command//  */ }" "${wrong%$'\n'}"
    fi
}

# console_file PATH LINE...: the file that a document shows.
console_file() {
    local path=$1 host
    shift
    if [[ $path != /* ]]; then
        printf '%s\n' "$@" | on login alice bash -c \
            "cat >'$path' && case '$1' in '#!'*) chmod +x '$path' ;; esac"
        return
    fi
    for host in login ${nodes//,/ }; do
        on "$host" root mkdir -p "${path%/*}"
        printf '%s\n' "$@" | node_file "$host" "$path"
    done
}

# console_session PLACE WORDS NUMBER LINE...: the session whose first line has this NUMBER.
console_session() {
    local file=$1 words=$2 number=$3 line command='' at prompt='^[$#] '
    local -a output=()
    shift 3
    for line; do
        if [[ $command == *\\ ]]; then
            command+=$'\n'$line
        elif [[ $line =~ $prompt ]]; then
            [[ -z $command ]] || console_run "$file:$at" "$words" "$command" "${output[@]}"
            command=$line output=() at=$number
        else
            output+=("$line")
        fi
        number=$((number + 1))
    done
    [[ -z $command ]] || console_run "$file:$at" "$words" "$command" "${output[@]}"
}

# console_document FILE [NAME]: all of it, in its order.
console_document() {
    local file=$1 title=${2:-$1} line number=0 fence='' indent='' start=0
    local -a lines=()
    local open='^( *)```([a-z]+.*)$'
    while IFS= read -r line; do
        number=$((number + 1))
        if [[ -z $fence ]]; then
            [[ $line =~ $open ]] || continue
            indent=${BASH_REMATCH[1]} fence=${BASH_REMATCH[2]} lines=() start=$((number + 1))
        elif [[ $line == "$indent"'```' ]]; then
            case $fence in
            console*) console_session "$title" "${fence#console}" "$start" "${lines[@]}" ;;
            *\ file=*) console_file "${fence#* file=}" "${lines[@]}" ;;
            esac
            fence=''
        else
            lines+=("${line#"$indent"}")
        fi
    done <"$file"
}
