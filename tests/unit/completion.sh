#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completion as real shells do it, each as far as it can be asked without a terminal.
# Speaks TAP.

PATH=$PWD:$PATH
share=$(cd "${srcdir:-.}/share" && pwd) || exit 1
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

# without SHELL NAME: is it missing?
without()
{
    command -v "$1" >/dev/null 2>&1 && return 1
    skip "$2" "no $1 here"
}

for file in bash-completion/completions/berth berth/srun.bash zsh/site-functions/_berth \
    zsh/site-functions/_berth_specs berth/srun.zsh fish/vendor_completions.d/berth.fish \
    berth/srun.fish; do
    shell=bash
    case $file in
    zsh/* | *.zsh) shell=zsh ;;
    *.fish) shell=fish ;;
    esac
    without "$shell" "$file: the syntax is right" && continue
    seen=$("$shell" -n "$share/$file" 2>&1)
    equal "$file: the syntax is right" '' "$seen"
done

touch image.sif
cat >ask.bash <<'END'
# ask.bash COMPLETION COMMAND WORD...: what is offered for the last word.
_srun() { COMPREPLY=(--nodes=); }
complete -F _srun srun
source "$1" || exit 1
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
compopt() { :; }
[[ $(complete -p "$1") =~ -F\ ([^ ]+) ]] || exit 1
"${BASH_REMATCH[1]}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
echo "${COMPREPLY[*]}"
END

# offers WANTED COMPLETION COMMAND WORD...
offers()
{
    wanted=$1
    shift
    equal "bash: $*" "$wanted" "$(bash --norc ask.bash "$@" 2>&1)"
}

if ! without bash 'bash completes words'; then
    offers 'profiles ps pull' "$share/bash-completion/completions/berth" berth p
    offers '--json --color' "$share/bash-completion/completions/berth" berth doctor --
    offers '--container-workdir= --container-writable' "$share/bash-completion/completions/berth" \
        berth run --container-w
    offers 'host hybrid' "$share/bash-completion/completions/berth" berth run --mpi-bind = h
    offers 'image.sif' "$share/bash-completion/completions/berth" berth run --container-image = ima
    offers '' "$share/bash-completion/completions/berth" berth run --container-env = x
    offers 'docker://' "$share/bash-completion/completions/berth" berth run --container-image = doc
    offers 'oras://' "$share/berth/srun.bash" srun --container-image = o
    offers '' "$share/berth/srun.bash" srun --container-mounts = o
    offers '--nodes= --container-image=' "$share/berth/srun.bash" srun --container-i
    offers '--container-image=' "$share/berth/srun.bash" sbatch --container-i
    offers 'host hybrid' "$share/berth/srun.bash" srun --mpi-bind = h
    BERTH_OPTION_PREFIX=b- offers '--nodes= --b-mpi-bind' "$share/berth/srun.bash" srun --b-m
    BERTH_OPTION_PREFIX=b- offers 'local local-each launch' "$share/berth/srun.bash" srun \
        --b-mpi-bind = l
fi

# fish says what it would offer: word, tab, help.
fish_offers()
{
    seen=$(HOME=$T fish --no-config -c "source $share/$2; complete -C '$3'" 2>&1 | cut -f 1 |
        tr '\n' ' ')
    equal "fish: $3" "$1" "${seen% }"
}

if ! without fish 'fish completes words'; then
    fish_offers '--container-image' fish/vendor_completions.d/berth.fish 'berth run --container-i'
    fish_offers '--json' fish/vendor_completions.d/berth.fish 'berth doctor --j'
    fish_offers 'profiles ps pull' fish/vendor_completions.d/berth.fish 'berth p'
    fish_offers '--container-image' berth/srun.fish 'sbatch --container-i'
    fish_offers '--container-image=oras://' berth/srun.fish 'srun --container-image=o'
    fish_offers '--mpi-bind=host --mpi-bind=hybrid' berth/srun.fish 'srun --mpi-bind=h'
fi

# zsh completes in its editor only; what it would do is seen.
if ! without zsh 'zsh: srun is completed by berth and by what was there'; then
    # shellcheck disable=SC2016
    seen=$(zsh -fc 'fpath=($1/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D
        was=$_comps[srun]; source $1/berth/srun.zsh
        echo $_comps[berth] $_comps[srun] $([[ $_berth_before[srun] == $was ]] && echo kept)
        _berth_specs srun b-; print -rl -- $specs
        _berth_specs doctor; print -rl -- $specs' zsh "$share" 2>&1)
    equal 'zsh: srun is completed by berth and by what was there' '_berth _berth_srun kept' \
        "$(echo "$seen" | head -n 1)"
    # zsh_takes WANTED START: the option that starts so.
    zsh_takes()
    {
        equal "zsh: $2" "$1" "$(echo "$seen" | grep -F -e "$2")"
    }
    zsh_takes '--b-mpi-bind=[choose whose MPI library runs; it pins nothing]::value:(auto host
        hybrid local local-each launch off)' --b-mpi-bind
    zsh_takes '--b-container-workdir=[working directory of the tasks in the image]:value:_files' \
        --b-container-workdir
    zsh_takes '--b-container-image=[run the tasks in this image; none\: on the host]:value:{_files;
        compadd -S "" docker\:// oras\:// library\://}' compadd
    zsh_takes '--b-container-writable[let tasks write to the image, and discard that]' \
        --b-container-writable
    zsh_takes "--json[is this host fit for berth, and what would make it so?]" "--json[is this host"
fi

finish
