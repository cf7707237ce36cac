#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completion as real shells do it, each as far as it can be asked without a terminal.
# Speaks TAP.

berth=$PWD/berth
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

# without SHELL NAME: is it missing?
without()
{
    command -v "$1" >/dev/null 2>&1 && return 1
    skip "$2" "no $1 here"
}

for shell in bash zsh fish bash-srun zsh-srun fish-srun; do
    # shellcheck disable=SC2094 # a word and a file
    "$berth" --complete "$shell" >"$shell" || exit 1
    without "${shell%-srun}" "$shell: the syntax is right" && continue
    seen=$("${shell%-srun}" -n "$shell" 2>&1)
    equal "$shell: the syntax is right" '' "$seen"
done
seen=$("$berth" --complete tcsh 2>&1)
equal 'another shell is refused' \
    "berth: --complete: expected bash, zsh or fish, or one of these with -srun, got 'tcsh'" "$seen"

touch image.sif
cat >ask.bash <<'END'
# ask.bash COMPLETION COMMAND WORD...: what is offered for the last word.
_srun() { COMPREPLY=(--nodes=); }
complete -F _srun srun
source "./$1" || exit 1
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
    offers 'profiles pull' bash berth p
    offers '--brief' bash berth doctor --
    offers '--container-workdir= --container-writable' bash berth run --container-w
    offers 'host hybrid' bash berth run --mpi-bind = h
    offers 'image.sif' bash berth run --container-image = ima
    offers '' bash berth run --container-env = x
    offers 'docker://' bash berth run --container-image = doc
    offers 'oras://' bash-srun srun --container-image = o
    offers '' bash-srun srun --container-mounts = o
    offers '--nodes= --container-image=' bash-srun srun --container-i
    offers '--container-image=' bash-srun sbatch --container-i
    offers 'host hybrid' bash-srun srun --mpi-bind = h
    BERTH_OPTION_PREFIX=b- offers '--nodes= --b-mpi-bind' bash-srun srun --b-m
    BERTH_OPTION_PREFIX=b- offers 'local local-each' bash-srun srun --b-mpi-bind = l
fi

# fish says what it would offer: word, tab, help.
fish_offers()
{
    seen=$(HOME=$T fish --no-config -c "source $2; complete -C '$3'" 2>&1 | cut -f 1 | tr '\n' ' ')
    equal "fish: $3" "$1" "${seen% }"
}

if ! without fish 'fish completes words'; then
    fish_offers '--container-image' fish 'berth run --container-i'
    fish_offers '--brief' fish 'berth doctor --b'
    fish_offers 'profiles pull' fish 'berth p'
    fish_offers '--container-image' fish-srun 'sbatch --container-i'
    fish_offers '--container-image=oras://' fish-srun 'srun --container-image=o'
    fish_offers '--mpi-bind=host --mpi-bind=hybrid' fish-srun 'srun --mpi-bind=h'
fi

# zsh completes in its editor only; what it would do is seen.
if ! without zsh 'zsh: srun is completed by berth and by what was there'; then
    cat >_berth <zsh
    # shellcheck disable=SC2016
    seen=$(zsh -fc 'fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D
        was=$_comps[srun]; source ./zsh-srun
        echo $_comps[berth] $_comps[srun] $([[ $_berth_before[srun] == $was ]] && echo kept)' 2>&1)
    equal 'zsh: srun is completed by berth and by what was there' '_berth _berth_srun kept' "$seen"
fi

finish
