#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# berth qualify: its command line, and what its script decides. Speaks TAP.

berth=$PWD/tests/unit/berth-here
source=$(cd "${srcdir:-.}" && pwd)
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

expect 'without Python' 1 \
    'berth: qualify: python3: No such file or directory; install Python 3.6 or later' \
    env PATH=/nowhere "$berth" qualify
# The interpreter itself: `python3` may be a script that takes time to find it.
python=$(python3 -c 'import sys; print(sys.executable if sys.version_info >= (3, 6) else "")' \
    2>/dev/null)
if [ -z "$python" ]; then
    skip 'the script' 'no Python 3.6 here'
    finish
    exit
fi
mkdir python slurm dir:colon
ln -s "$python" python/python3
PATH=$T/python:$PATH
export PATH
says 'what it decides' 0 OK python3 "$source/tests/unit/qualify.py"

# A Slurm that is two scripts, and a job that is two variables.
cat >slurm/srun <<'END'
#!/bin/sh
printf 'MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n'
END
cat >slurm/scontrol <<'END'
#!/bin/sh
printf 'n1\nn2\n'
END
printf '#!/bin/sh\necho "usage of $*"\n' >slurm/berth
cp slurm/srun slurm/salloc
chmod +x slurm/*
# qualify OPTION...: in that job.
qualify()
{
    env "PATH=$T/slurm:$PATH" SLURM_JOB_ID=12 'SLURM_JOB_NODELIST=n[1-2]' "$berth" qualify "$@"
}
# The usage is that of an installed berth.
expect 'a wrong use' 2 'usage of qualify --help' \
    python3 -I "$source/share/berth/qualify" "$T/slurm/berth" --many
says 'a wrong value' 2 "berth: qualify: --seconds: expected a number from 1 to 86400, got '1m'" \
    "$berth" qualify --seconds 1m
says 'outside of a job it becomes salloc' 0 'MPI plugin types are' \
    env -u SLURM_JOB_ID "PATH=$T/slurm:$PATH" "$berth" qualify
printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' >slurm/salloc
says 'two nodes' 0 -N2 env -u SLURM_JOB_ID "PATH=$T/slurm:$PATH" "$berth" qualify
says 'a type that srun does not have' 1 \
    "berth: qualify: --mpi: srun has no type 'pmi9'; it has pmi2, pmix" qualify --mpi pmi2 --mpi \
    pmi9
says 'a directory that is not there' 1 \
    "berth: qualify: --directory '/nowhere': No such file or directory" qualify --directory /nowhere
says 'a directory that cannot be mounted' 1 \
    "berth: qualify: --directory '$T/dir:colon': a colon or a comma cannot be mounted; name
        another" \
    qualify --directory dir:colon
says 'a directory where nobody may write' 1 \
    "berth: qualify: --directory '/proc': No such file or directory; name one where you may write
        and that all nodes see" \
    qualify --directory /proc
says 'a job of several components' 1 \
    'berth: qualify: the job has no SLURM_JOB_NODELIST; run berth qualify in a job of one component,
        or outside of jobs' \
    env -u SLURM_JOB_NODELIST "PATH=$T/slurm:$PATH" SLURM_JOB_ID=12 "$berth" qualify
printf '#!/bin/sh\n' >slurm/scontrol
says 'no node' 1 "berth: qualify: -w: 'n[3-2]' names no node" qualify -w 'n[3-2]'
printf '#!/bin/sh\necho no answer >&2; exit 1\n' >slurm/scontrol
says 'Slurm does not answer' 1 "scontrol': no answer" qualify

finish
