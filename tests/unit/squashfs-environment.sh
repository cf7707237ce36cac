#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# share/berth/squashfs-environment: the variables of an image of enroot. The shell here is not
# that of the runtime, which tests/cluster/t/sqsh.t has. Speaks TAP.
# shellcheck disable=SC2016 # nothing is expanded

source=$(cd "${srcdir:-.}" && pwd)
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
sed "s,/etc/environment,$T/environment,g" "$source/share/berth/squashfs-environment" >reader

# sets TITLE LINE EXPECTED [NAME=VALUE...]: with LINE in the file, EXPECTED (a pattern of grep, the
# whole line) is in the environment, which has had NAME=VALUE before.
sets()
{
    title=$1 line=$2 expected=$3
    shift 3
    printf '%s\n' "$line" >environment
    seen=$(env -i PATH=/usr/bin:/bin "$@" sh -c '. ./reader && env')
    printf '%s\n' "$seen" | grep -qxF -- "$expected"
    report $? "$title" "no line '$expected' in: $seen"
}

sets 'a variable' 'CUDA_VERSION=12.3' 'CUDA_VERSION=12.3'
sets 'the image wins' 'A=image' 'A=image' A=host
sets 'the PATH' 'PATH=/opt/conda/bin:/usr/bin:/bin' 'PATH=/opt/conda/bin:/usr/bin:/bin'
sets 'nothing is expanded' 'A=$HOME `id` $(id) * \n' 'A=$HOME `id` $(id) * \n'
sets 'a value with =' 'A=b=c' 'A=b=c'
sets 'an empty value' 'A=' 'A=' A=host
sets 'blanks in and after a value' 'A= b  c ' 'A= b  c '
sets 'blanks before a name' "$(printf ' \tA=b')" 'A=b'
sets 'double quotes around a value' 'A="b c"' 'A=b c'
sets 'single quotes around a value' "A='b c'" 'A=b c'
sets 'a quote in a value' "A=it's" "A=it's"
sets 'names of its own' "$(printf 'line=1\nname=2\nvalue=3')" 'value=3'
for it in '# A=image' 'export A=image' '1A=image' 'A-B=image' 'A' '=image' ''; do
    sets "no variable: '$it'" "$it" 'A=host' A=host
done
# What is not written into such a file is not read either, but for what only shells leave behind.
names=$(sed -n '/^static bool is_foreign/,/^}/s/"/\n/gp' "$source/src/image/enroot.c" |
    grep -E '^[A-Z_]+$' | grep -vxE 'BASH_FUNC_|SHLVL|_|PS1|PROMPT_COMMAND')
[ "$(echo "$names" | wc -l)" -gt 10 ]
report $? 'names that are not written' "$names"
for it in $names; do
    case $it in *_) it=${it}NAME ;; esac
    printf '%s=image\n' "$it" >environment
    seen=$(sh -c '. ./reader && env' 2>&1 | grep -E "^$it=image$|read-?only")
    [ -z "$seen" ]
    report $? "not the image's: $it" "$seen"
done
sets 'the libraries of the runtime come last' 'LD_LIBRARY_PATH=/opt/lib' \
    'LD_LIBRARY_PATH=/opt/lib:/.singularity.d/libs' LD_LIBRARY_PATH=/host
sets '... and alone' 'A=b' 'LD_LIBRARY_PATH=/.singularity.d/libs'
printf 'A=1\nB=2' >environment
[ "$(sh -c '. ./reader && echo "$A$B"')" = 12 ]
report $? 'a last line without an end'
rm environment
[ "$(env -i sh -c '. ./reader && echo "$LD_LIBRARY_PATH"' 2>&1)" = /.singularity.d/libs ]
report $? 'an image without the file'
finish
