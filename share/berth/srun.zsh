# SPDX-License-Identifier: Apache-2.0
# Completion of berth's options of srun, sbatch and salloc in zsh, besides what completes them
# already: to be sourced at the end of ~/.zshrc, behind compinit.

typeset -gA _berth_before
fpath+=(${${(%):-%x}:A:h:h}/zsh/site-functions)
autoload -Uz _berth_specs

_berth_srun() {
    local before=$_berth_before[$service]
    local -a specs
    if [[ $PREFIX == -* ]]; then
        _berth_specs srun "${BERTH_OPTION_PREFIX-}"
        _arguments -S $specs
    fi
    if [[ -n $before ]]; then
        $before "$@"
    elif [[ $PREFIX != -* ]]; then
        _default
    fi
}

for _berth_command in srun sbatch salloc; do
    [[ ${_comps[$_berth_command]-} == (|_berth_srun) ]] ||
        _berth_before[$_berth_command]=$_comps[$_berth_command]
    compdef _berth_srun $_berth_command
done
unset _berth_command
