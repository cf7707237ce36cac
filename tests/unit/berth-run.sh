#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# berth run, with a runtime that starts berth-init where it is instead of in an image.
# Speaks TAP.
# shellcheck disable=SC2016,SC2086 # words for other shells, and words of $ranks

berth=$PWD/tests/unit/berth-here
built=$PWD/berth
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
mkdir -p a/bin b/bin path
cat >path/apptainer <<'END'
#!/bin/sh
# The words of exec up to the image are the runtime's; berth-init is behind it.
[ -z "$SHOW" ] || echo "$*" >>"$SHOW"
while [ "${1#/proc/self/fd/}" = "$1" ]; do
    image=$1
    shift
done
export IMAGE="$image"
exec "$@"
END
chmod +x path/apptainer
PATH=$T/path:$PATH
SLURMD_NODENAME=n1
export PATH SLURMD_NODENAME
unset SHOW
# A process that ends at once frees nothing.
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS

show='echo "$IMAGE${1+ $*}"'

# What berth run runs.
expect 'a command runs in the image' 0 'T/a x y z' \
    "$berth" run --container-image=a sh -c "$show" sh x 'y z'
expect 'the words of the command are its own' 0 'T/a --container-image=b' \
    "$berth" run --container-image=a -- sh -c "$show" sh --container-image=b
expect 'the variable of an option is its default' 0 'T/b' \
    env BERTH_CONTAINER_IMAGE=b "$berth" run sh -c "$show"
expect 'the option wins over its variable' 0 'T/a' \
    env BERTH_CONTAINER_IMAGE=b "$berth" run --container-image=a sh -c "$show"
expect 'the default of a job applies to berth run, too' 0 'T/b' \
    env "SLURM_BERTH_JOB=1;*:image=$T/b;." "$berth" run sh -c "$show"
expect 'the variable wins over the default of a job' 0 'T/a' \
    env BERTH_CONTAINER_IMAGE=a "SLURM_BERTH_JOB=1;*:image=$T/b;." "$berth" run sh -c "$show"
expect 'image none runs the command on the host' 0 '' \
    env BERTH_CONTAINER_IMAGE=b "$berth" run --container-image=none sh -c 'printf "%s" "$IMAGE"'
expect 'lists accumulate' 0 '1 2,3' \
    env BERTH_CONTAINER_ENV=A=1 "$berth" run --container-image=a '--container-env=B=2\,3' \
    sh -c 'echo "$A $B"'
expect 'no variable of berth is in the environment' 0 '' \
    "$berth" run --container-image=a sh -c 'env | grep ^BERTH_ || :'

# How berth run ends.
expect 'the exit status is that of the command' 7 '' \
    "$berth" run --container-image=a sh -c 'exit 7'
expect 'a signal that ends the command gives 128 and its number' 143 '' \
    sh -c '"$@" 2>/dev/null' sh "$berth" run --container-image=a sh -c 'kill -TERM $$; sleep 300'
expect 'a command that is not there' 127 \
    "berth: n1: image 'T/a': command './gone' is not in the image; check the path, or mount it (--container-mounts)" \
    "$berth" run --container-image=a ./gone

# What the lines of a file say for the ranks of an mpirun.
# lines LINE...: the file conf.
lines()
{
    printf '%s\n' "$@" >conf
}
tell="sh -c 'echo \"\$IMAGE \$N \$*\"' sh"
ranks="$berth run --multi-prog"
lines "0-1 --container-image=a $tell" '# a comment' "2 --container-image b $tell 1" "3 $tell host"
for rank in PMI_RANK OMPI_COMM_WORLD_RANK PMIX_RANK PALS_RANKID SLURM_PROCID; do
    expect "the line of a rank runs: $rank" 0 'T/b  1' env "$rank=2" $ranks conf
done
expect 'an mpirun counts, and not the task of Slurm in which it runs' 0 'T/b  1' \
    env PMI_RANK=2 SLURM_PROCID=0 $ranks conf
expect 'without an mpirun it is rank 0' 0 'T/a  ' $ranks conf
expect 'words behind the file go to the command' 0 'T/a  x y z' env PMI_RANK=1 $ranks conf x 'y z'
expect 'a line without an image runs on the host' 0 '  host x' env PMI_RANK=3 $ranks conf x
expect 'options in front are the default of the lines' 0 'T/b 1 host' \
    env PMI_RANK=3 "$berth" run --container-env=N=1 --multi-prog --container-image=b conf
lines "0 --container-image=none $tell" "1 --container-env=N=%t.%o $tell" "* --container-env=N=%t.%o $tell %t"
expect 'none on a line is the host' 0 '  ' env PMI_RANK=0 PMI_SIZE=4 $ranks --container-image=a conf
expect 'a line knows its rank' 0 'T/a 1.0 ' env PMI_RANK=1 PMI_SIZE=4 $ranks --container-image=a conf
expect 'the line for the remaining ranks knows the rank, too' 0 'T/a 3.3 3' \
    env OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 $ranks --container-image=a conf
expect 'without the number of ranks the line is refused' 1 \
    "berth: --multi-prog: 'conf': line 3: %t or %o in an option of '*': say how many tasks there are (srun -n), or write their ranks" \
    env PMIX_RANK=1 $ranks --container-image=a conf
lines "0-1 --container-image=a $tell" '2 ./gone' '3 --container-image=b ./gone' "4 sh -c 'exit 7'"
expect 'the exit status is that of the line' 7 '' env PMI_RANK=4 $ranks conf
expect 'a command of a line that is not there' 127 \
    "berth: n1: image 'T/b': command './gone' is not in the image; check the path, or mount it (--container-mounts)" \
    env PMI_RANK=3 $ranks conf
expect 'a missing command of a line on the host' 127 \
    "berth: run: command './gone': No such file or directory; check the name, or give its path" \
    env PMI_RANK=2 $ranks conf
account()
{
    env "$@" $ranks --container-explain conf | grep "^ranks"
}
expect 'the first rank of a line gives its account' 0 \
    "ranks 0-1: run $tell in T/a" account PMI_RANK=0
expect 'no other rank does' 1 '' account PMI_RANK=1
expect 'a line on the host has an account, too, and does not run' 0 \
    "ranks 2: run ./gone without a container" account PMI_RANK=2

# wrong NAME SENTENCE LINE...: a file that is refused, whosever line it is.
wrong()
{
    wrong_name=$1
    sentence=$2
    shift 2
    lines '0 --container-image=a true' "$@"
    expect "$wrong_name" 1 "berth: --multi-prog: 'conf': line $sentence" \
        env PMI_RANK=0 $ranks conf
}
wrong 'a line with an option of Slurm' \
    "2: '-n3' is not an option that a line can have; expected a program, or options for its image; options of Slurm go to srun" \
    '1 -n3 true'
wrong 'a line without a program' '2: no program; write one after the ranks and the options' \
    '1 --container-image=b'
wrong 'a line whose ranks are none' \
    "3: 'x' is not a list of ranks; expected one like 0-3,8, or * for those that no other line has" '' 'x true'
wrong 'a rank on two lines' '3: rank 0 is on line 1, too; write it once, and * on the last line' '1 true' '0-3 true'
wrong 'an mpirun in each of several ranks' \
    '2: --mpi-bind=local: only one task may start an mpirun, but 3 tasks would; use -n1 -c3, or --mpi-bind=local-each for an mpirun in every task' \
    '1-3 --container-image=a --mpi-bind=local true'
expect 'a rank on no line' 1 \
    "berth: --multi-prog: 'conf': no line has rank 4; write one, or start fewer ranks" \
    env PMI_RANK=4 $ranks conf
: >conf
expect 'a file without lines' 1 \
    "berth: --multi-prog: 'conf': no line has rank 0; write one, or start fewer ranks" $ranks conf
expect 'a file that is not there' 1 "berth: --multi-prog: 'gone': No such file or directory" $ranks gone
expect 'a directory' 1 "berth: --multi-prog: 'a': Is a directory" $ranks a
says 'no file is a wrong use' 2 'usage: berth run [--multi-prog] [OPTION...]' \
    $ranks --container-image=a --container-entrypoint
expect 'a rank that is not a number' 1 \
    "berth: PMI_RANK: '1x' is not a number; leave it to mpirun" env PMI_RANK=1x $ranks conf
lines '0 --mpi-bind=host true' '1 --mpi-bind=hybrid true'
for rank in 0 1; do
    says "two MPI libraries in one MPI_COMM_WORLD are refused by rank $rank" 1 \
        'and both would wait for each other in MPI_Init' \
        env PMI_RANK=$rank $ranks --container-image=a conf
done
lines '* true'
expect 'options without an image on any line' 1 \
    'berth: --container-writable: it needs an image; add --container-image=IMAGE' \
    $ranks --container-writable conf
lines '* --container-image=none echo it runs'
expect 'an account where all lines are on the host' 1 \
    'berth: --container-explain: no line of the --multi-prog file runs in an image; name an image' \
    $ranks --container-image=a --container-explain conf
expect 'the file is for berth run' 2 "berth: explain: '--multi-prog' is not an option; see berth explain --help" \
    "$berth" explain --multi-prog conf

# Which flags the runtime gets.
flags()
{
    rm -f shown
    SHOW=$T/shown "$berth" run "$@" true
    tail -n 1 shown | sed "s|$T|T|g; s|/proc/.*||"
}
expect 'options are those of srun' 0 \
    '--silent exec --writable-tmpfs --no-mount home,cwd --mount type=bind,"source=T/b","destination=/b",ro --cleanenv T/a ' \
    flags --container-image=a --container-gpu=off --container-mounts=b:/b:ro --no-container-mount-home \
    --container-writable --container-args=--cleanenv
expect 'a lifetime of a job is for steps' 0 \
    'berth: note: --container-lifetime=job: only steps of srun use a container again; this one ends with its command
hello' \
    "$berth" run --container-image=a --container-lifetime=job echo hello
# shellcheck disable=SC2317
apart()
{
    env "$@" "$berth" run --container-image=a --container-env=UCX_TLS=tcp \
        sh -c 'echo "$UCX_TLS $UCX_POSIX_USE_PROC_LINK $MPIR_CVAR_CH4_CMA_ENABLE $PMI_FD"'
}
expect 'a rank of an mpirun knows that it is apart' 0 'tcp n 0 7' apart PMI_RANK=1 PMI_FD=7
expect 'a process without a rank does not' 0 'tcp   ' apart PMI_FD=
expect 'what the user has set stays' 0 'tcp y 0 ' \
    apart OMPI_COMM_WORLD_RANK=1 UCX_POSIX_USE_PROC_LINK=y

# The command's descriptors are its own.
expect 'descriptors of the command stay' 0 'through 9' \
    sh -c 'exec 9>&1; exec "$@"' sh "$berth" run --container-image=a sh -c 'echo through 9 >&9'
open_files='print join(" ", grep { -e "/proc/self/fd/$_" } 0..999), "\n"'
expect 'no descriptor is added' 0 "$(perl -e "$open_files" 2>&1)" \
    "$berth" run --container-image=a perl -e "$open_files"
for stream in '<&-' '>&-'; do
    expect "an account needs its output, whatever else is closed: $stream" 1 \
        'berth: n1: standard output: '"$([ "$stream" = '>&-' ] && echo Bad file descriptor ||
            echo No space left on device)" \
        sh -c "exec \"\$@\" >/dev/full $stream" sh "$berth" explain --container-image=a true
done
expect 'closed descriptors stay closed' 0 "$(perl -e "$open_files" <&- 2>&1)" \
    sh -c 'exec "$@" <&-' sh "$berth" run --container-image=a perl -e "$open_files"

# What berth run refuses.
expect 'an image that is not there' 1 \
    "berth: n1: image 'T/gone.sif': not found; check the path, and that the nodes see this file system" \
    "$berth" run --container-image=gone.sif true
expect 'no image' 2 \
    'berth: run: no image; give --container-image, or set BERTH_CONTAINER_IMAGE' \
    "$berth" run true
expect 'an account of the host' 2 \
    'berth: explain: with --container-image=none the command runs on this host, and berth does nothing; name an image' \
    "$berth" explain --container-image=none true
expect 'other options without an image' 2 \
    'berth: --container-writable: it needs an image; add --container-image=IMAGE' \
    "$berth" run --container-writable true
expect 'a value that is wrong' 2 \
    "berth: --container-workdir: 'x' is not absolute; expected a directory in the image, from /" \
    "$berth" run --container-image=a --container-workdir=x true
expect 'a variable that is wrong' 2 \
    "berth: BERTH_CONTAINER_WRITABLE: expected yes or no, got 'perhaps'" \
    env BERTH_CONTAINER_WRITABLE=perhaps "$berth" run --container-image=a true
expect 'a default of a job that is none' 2 \
    "berth: SLURM_BERTH_JOB: form '9' is not this release's (1); do not set it by hand, and have one release of berth on all hosts" \
    env 'SLURM_BERTH_JOB=9;*:image=/a' "$berth" run true
expect 'an option that is none' 2 \
    "berth: run: '--colour' is not an option; see berth run --help" \
    "$berth" run --colour true
expect 'an option that is misspelt' 2 \
    "berth: run: '--container-imge' is not an option; did you mean '--container-image'?" \
    "$berth" run --container-imge=a true
expect 'a letter that is none' 2 \
    "berth: run: '-x' is not an option; see berth run --help" \
    "$berth" run -x true
expect 'a letter of another alphabet' 2 \
    "berth: run: '-é' is not an option; see berth run --help" \
    "$berth" run -é true
expect 'a value for an option that has none' 2 \
    "berth: run: '--container-writable=yes' takes no value" \
    "$berth" run --container-image=a --container-writable=yes true
expect 'an option without its value' 2 \
    "berth: run: '--container-image' needs a value" \
    "$berth" run --container-image
expect 'a command on the host that is not there' 127 \
    "berth: run: command 'gone-it-is': No such file or directory; check the name, or give its path" \
    "$berth" run --container-image=none gone-it-is
expect 'a command on the host that is no program' 126 \
    "berth: run: command './a': Permission denied; check the name, or give its path" \
    "$berth" run --container-image=none ./a

# The site's settings, in the file that config= names.
umask 022
mkdir slurm
: >slurm/slurm.conf
echo "required berth.so config=$T/site.yaml" >slurm/plugstack.conf
echo 'runtime: {raw_args: deny}' >site.yaml
chmod 755 .
lines '0 --container-image=a --container-args=-C true' '1 --container-image=a true'
expect 'what the site denies is denied on a line' 1 \
    'berth: --container-args: this site does not allow it; leave it out (T/site.yaml:1)' \
    env "SLURM_CONF=$T/slurm/slurm.conf" $ranks conf
expect 'other ranks of the file still run' 0 '' env PMI_RANK=1 "SLURM_CONF=$T/slurm/slurm.conf" $ranks conf
for verb in run explain; do
    expect "what the site denies is denied to $verb" 1 \
        'berth: --container-args: this site does not allow it; leave it out (T/site.yaml:1)' \
        env "SLURM_CONF=$T/slurm/slurm.conf" "$berth" "$verb" --container-image=a --container-args=-C true
done

echo "required berth.so option_prefix=b-" >slurm/plugstack.conf
lines "0 --b-container-image=a $tell"
expect 'options of a line may have the prefix of the site' 0 'T/a  ' \
    env "SLURM_CONF=$T/slurm/slurm.conf" $ranks conf

says 'no command is a wrong use' 2 'usage: berth run [--multi-prog] [OPTION...]' "$berth" run --container-image=a
says '--help lists the options' 0 '  --container-image=PATH' "$berth" run --help
says '--help shows optional values' 0 '  --mpi-bind[=auto|' "$berth" run --help

# The program as it is built looks for berth-start where it will be installed.
name='berth-start is not there'
said=$("$built" run --container-image=a true 2>&1)
case $said in
    "berth: '/"*"/berth-start': No such file or directory; berth is incomplete on this host, tell its administrators")
        report 0 "$name"
        ;;
    *)
        skip "$name" "it is installed: $said"
        ;;
esac

finish
