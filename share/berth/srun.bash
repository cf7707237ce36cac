# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of berth's options of srun, sbatch and salloc in bash, besides what completes them
# already: to be sourced at the end of ~/.bashrc.

# shellcheck source=share/bash-completion/completions/berth
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../bash-completion/completions/berth" || return

_berth_srun()
{
    local own before=_berth_before_${1##*/}

    COMPREPLY=()
    _berth_offer srun "${BERTH_OPTION_PREFIX-}" && return
    own=("${COMPREPLY[@]}")
    COMPREPLY=()
    [[ -z ${!before-} ]] || "${!before}" "$@"
    COMPREPLY+=("${own[@]}")
    return 0
}

for _berth_command in srun sbatch salloc; do
    if [[ $(complete -p "$_berth_command" 2>/dev/null) =~ \ -F\ ([^ ]+)\  ]] &&
        [[ ${BASH_REMATCH[1]} != _berth_srun ]]; then
        printf -v "_berth_before_$_berth_command" %s "${BASH_REMATCH[1]}"
    fi
    complete -o default -F _berth_srun "$_berth_command"
done
unset _berth_command
