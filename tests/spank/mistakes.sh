#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Words that do not do what they seem to do: a warning of one line, and the command goes on;
# or an error, where nobody can mean them.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

WARNING='berth: warning:'
run='0 host: ./x'
exec </dev/null

# An option of ours after the program.
expect 'an option behind the program' 0 \
    "srun: $WARNING './x' runs on the host and gets '--container-image=a' as an argument; write
        options before the command: srun --container-image=a ./x
$run --container-image=a" \
    srun -n2 ./x --container-image=a
expect 'its value is the next word' 0 \
    "srun: $WARNING './x' runs on the host and gets '--container-image' as an argument; write
        options before the command: srun --container-image a ./x
$run 1 --container-image a" \
    srun ./x 1 --container-image a
expect 'an option without a value behind the program' 0 \
    "srun: $WARNING './x' runs on the host and gets '--mpi-bind' as an argument; write options
        before the command: srun --mpi-bind ./x
$run --mpi-bind -v" \
    srun ./x --mpi-bind -v
expect 'another option behind a program that runs in an image' 0 \
    "srun: $WARNING './x' gets '--mpi-bind=off' as an argument; write options before the command:
        srun --mpi-bind=off ./x
0 --container-image=T/a: ./x --mpi-bind=off" \
    srun --container-image=a ./x --mpi-bind=off
expect 'an option behind the program of the second component' 0 \
    "srun: $WARNING './y' runs on the host and gets '--container-image=b' as an argument; write
        options before the command: srun --container-image=b ./y
0 --container-image=T/a: ./x
1 host: ./y --container-image=b" \
    srun --container-image=a ./x : ./y --container-image=b
expect 'two components that are written once: one line' 0 \
    "srun: $WARNING './x' runs on the host and gets '--mpi-bind' as an argument; write options
        before the command: srun --mpi-bind ./x
0 host: ./x --mpi-bind
1 host: ./x --mpi-bind" \
    srun --het-group=0,1 ./x --mpi-bind
expect 'an option with the prefix of the site behind the program' 0 \
    "srun: $WARNING './x' runs on the host and gets '--site-mpi-bind' as an argument; write options
        before the command: srun --site-mpi-bind ./x
$run --mpi-bind --site-mpi-bind" \
    FAKE_WORDS=option_prefix=site- srun ./x --mpi-bind --site-mpi-bind
for words in './x --container-images=a' './x --container=a' './x -- --mpi-bind' \
    'srun --container-image=a ./x' 'env A=1 /usr/bin/berth run --mpi-bind ./x' './x x--mpi-bind' \
    '--container-image=none'; do
    # shellcheck disable=SC2086 # words
    expect "nothing is said of: $words" 0 "0 host: $words" srun -- $words
done

# A colon that is not a word.
expect 'a colon before an option' 1 \
    "srun: error: berth: the colon in ':-n1' does not begin a component; write blanks around it: ./x
        : -n1" \
    srun --container-image=a ./x :-n1 --container-image=b ./y
expect 'a colon behind a program' 1 \
    "srun: error: berth: the colon in './x:' does not begin a component; write blanks around it: ./x
        : -n1" \
    srun --container-image=a ./x: -n1 ./y
expect 'a colon behind an argument, and an option of ours behind it' 1 \
    "srun: error: berth: the colon in '7:' does not begin a component; write blanks around it: 7 :
        --container-image=b" \
    srun ./x 7: --container-image=b ./y
expect 'a colon in a step without a word of berth' 0 "$run :-n1 ./y: -n1" \
    srun ./x :-n1 ./y: -n1
expect 'a colon in an argument' 0 '0 --container-image=T/a: ./x a:b c: d :e' \
    srun --container-image=a ./x a:b c: d :e
for option in -n1 '-n 1' -N2 '-c 4' --nodes=1 --partition=p --site-mpi-bind; do
    # shellcheck disable=SC2086 # words
    expect "a colon before $option and a command" 1 \
        "srun: error: berth: the colon in './x:' does not begin a component; write blanks around it:
            ./x : ${option% *}" \
        FAKE_WORDS=option_prefix=site- srun --site-container-image=a ./x: $option ./y
done
for words in 'grep error: -r logs' 'grep error: -n logs' 'rsync host: -av to' './x: -n1' \
    './x: -n 1' \
    'rsync host: --delete to' './x :-r ./y' './x :-n ./y' './x :-n1' './x: - y'; do
    # shellcheck disable=SC2086 # words
    expect "nothing is said of a colon: $words" 0 "0 --container-image=T/a: $words" \
        FAKE_WORDS=option_prefix=site- srun --site-container-image=a $words
done

# Slurm's own --container.
own="is Slurm's own option, for OCI bundles, and does not start an image; write srun
        --container-image="
mkdir -p bundle plain
echo '{}' >bundle/config.json
: >file
for value in no.sif file plain docker://ubuntu; do
    expect "--container=$value" 1 "srun: error: berth: --container=$value (or its variable)
        $own$value" srun --container=$value ./x
done
expect 'SRUN_CONTAINER names an image' 1 "srun: error: berth: --container=no.sif (or its variable)
        ${own}no.sif" SRUN_CONTAINER=no.sif srun ./x
for value in bundle /not/here; do
    expect "--container=$value: a bundle, maybe" 0 "$run" srun --container=$value ./x
done
expect 'sbatch --container names an image' 1 \
    "sbatch: error: berth: --container=no.sif (or its variable) is Slurm's own option, for OCI
        bundles, and does not start an image; write sbatch --container-image=no.sif" \
        sbatch --container=no.sif job
expect 'options with a prefix, and that of Slurm' 1 \
    "srun: error: berth: --container=no.sif (or its variable) is Slurm's own option, for OCI
        bundles, and does not start an image; write srun --site-container-image=no.sif" \
        FAKE_WORDS=option_prefix=site- srun --container=no.sif ./x

# A mount that hides the image's files: a line for each place.
expect 'mounts over /usr and /etc' 0 \
    "srun: $WARNING --container-mounts=/usr:/usr hides the image's /usr; mount it at another place,
        such as /host/usr
srun: $WARNING --container-mounts=/etc:/etc hides the image's /etc; mount it at another place, such
        as /host/etc
0 --container-image=T/a --container-mounts=/usr:/usr:rw --container-mounts=/etc:/etc:rw: ./x
1 --container-image=T/b --container-mounts=/usr:/usr:rw: ./y" \
    srun --container-image=a --container-mounts=/usr:/usr/,/etc ./x : \
    --container-image=b --container-mounts=/usr:/usr ./y
expect 'mounts below them' 0 \
    '0 --container-image=T/a --container-mounts=/usr/share:/usr/share:rw: ./x' \
    srun --container-image=a --container-mounts=/usr/share:/usr/share ./x

# Scripts that start no program in the image.
nothing='runs on the host and has no srun, so nothing runs in the image; write srun before each
        program, or give --container-script to run the script in the image'
printf '#!/bin/sh\n#SBATCH -n2\n# srun is for others\n./app\n' >host.sh
printf '#!/bin/sh\n./app1\n  exec srun ./app\n' >good.sh
# shellcheck disable=SC2016 # the script's
printf '#!/bin/sh\n$SRUN ./app\n' >variable.sh
# shellcheck disable=SC2016 # the script's
printf '#!/bin/sh\nsrun "$@" ./app\n' >arguments.sh
printf '#!/bin/sh\n/usr/bin/berth run --container-image=b ./app\n' >own.sh
expect 'a script without srun where only the environment says the image' 0 '0 host: host.sh' \
    BERTH_CONTAINER_IMAGE=a sbatch host.sh
expect 'a script without srun, and another image than in the environment' 0 \
    "sbatch: $WARNING 'host.sh' $nothing
0 host: host.sh" BERTH_CONTAINER_IMAGE=b sbatch --container-image=a host.sh
expect 'a script without srun' 0 "sbatch: $WARNING 'host.sh' $nothing
0 host: host.sh" sbatch --container-image=a host.sh
expect 'a script without srun on standard input' 0 "sbatch: $WARNING the script $nothing
0 --container-image=T/a: ./x" FAKE_SCRIPT="srun ./x" sbatch --container-image=a <host.sh
printf '#!/bin/sh\npython_srun_helper=1 ./app\n' >part.sh
expect 'a script with srun as a part of a name' 0 "sbatch: $WARNING 'part.sh' $nothing
0 host: part.sh" sbatch --container-image=a part.sh
expect 'a script that runs in the image itself' 0 \
    "0 host: LIBEXEC/berth-oci$(since 23.11 && echo ' host.sh')" \
    sbatch --container-image=a --container-script host.sh
expect 'a command of --wrap without srun' 0 "sbatch: $WARNING the command of --wrap $nothing
0 --container-image=T/a: ./x" FAKE_SCRIPT="srun ./x" sbatch --container-image=a --wrap ./app
expect 'a command of --wrap with it' 0 '0 --container-image=T/a: ./x' \
    FAKE_SCRIPT="srun ./x" sbatch --container-image=a --wrap 'srun ./app'
for script in good.sh variable.sh own.sh not-here.sh; do
    expect "nothing is said of $script" 0 "0 host: $script" sbatch --container-image=a $script
done
expect 'a script without srun in a job without an image' 0 '0 host: host.sh' sbatch host.sh
expect 'an option behind a script' 0 \
    "sbatch: $WARNING 'good.sh' runs on the host and gets '--container-image=a' as an argument;
        write options before the command: sbatch --container-image=a good.sh
0 host: good.sh --container-image=a" sbatch good.sh --container-image=a
expect 'an option for a script that hands it on' 0 '0 host: arguments.sh --container-image=a' \
    sbatch arguments.sh --container-image=a
number=0
# shellcheck disable=SC2016 # of another language
for line in 'echo $argv' sys.argv 'argparse.ArgumentParser()' @ARGV 'commandArgs()'; do
    number=$((number + 1))
    printf '#!/usr/bin/other\n# srun\n%s\n' "$line" >other$number
    expect "an option for a script that reads $line" 0 "0 host: other$number --mpi-bind" \
        sbatch other$number --mpi-bind
done
printf '#!/usr/bin/perl\n# srun\nprint "@ARGV\\n"\n' >perl
chmod +x perl
expect 'an option for a Perl script that salloc starts' 0 --mpi-bind salloc ./perl --mpi-bind
for line in '/bin/bash -l' '/usr/bin/env -S zsh -f' /usr/bin/python3; do
    printf '#!%s\n# srun\n' "$line" >shell
    expect "an option behind a script: $line" 0 \
        "sbatch: $WARNING 'shell' runs on the host and gets '--mpi-bind' as an argument; write
            options before the command: sbatch --mpi-bind shell
0 host: shell --mpi-bind" sbatch shell --mpi-bind
done
expect 'an option of the srun that salloc starts' 0 'srun --container-image=a' \
    salloc env echo srun --container-image=a
expect 'a command of salloc without srun' 0 hello salloc --container-image=a echo hello

# --quiet silences Slurm's own lines only.
expect 'sbatch -Q: a script without srun' 0 "sbatch: $WARNING 'host.sh' $nothing
0 host: host.sh" FAKE_QUIET=1 sbatch --container-image=a host.sh

finish
