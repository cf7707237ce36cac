#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Command lines of coupled models as people publish them, with berth's options in place of
# `apptainer exec` and of what it takes to bring the host's MPI along: every rank is in one
# MPI_COMM_WORLD, on the host's MPI, with the image and the number of threads of its own
# component. The images are of different releases of Debian, and the host's MPI is its own,
# because programs that scripts start may want its Fortran. Debian 12's MPICH hangs between
# nodes (see mpi.t).

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpibookworm mpitrixie
script_submit
family=mpich pmi=pmi2
[[ $release != bookworm ]] || family=openmpi pmi=pmix

# The script that an image has for its model: what the model was built with changes
# LD_LIBRARY_PATH when it is loaded, and the script sets that back.
for it in execrunscript.sh:$family openmpi.sh:openmpi; do
    script "${it%:*}" <<EOF
#!/bin/bash
saved=\$LD_LIBRARY_PATH
export LD_LIBRARY_PATH=/opt/spack/view/lib:\$LD_LIBRARY_PATH
ls / >/dev/null || exit
export LD_LIBRARY_PATH=\$saved
exec /opt/t/${it#*:}/world "\$1.\${OMP_NUM_THREADS-none}"
EOF
done
# Each rank chooses its program.
script byrank.sh <<EOF
#!/bin/sh
case \$SLURM_PROCID in
0 | 1) exec /opt/t/$family/world "nemo.\$OMP_NUM_THREADS" ;;
*) exec ./execrunscript.sh xios ;;
esac
EOF

# Open MPI's ranks, more than there are cores, wait by asking.
module='export OMPI_MCA_mpi_yield_when_idle=1; unset OMP_NUM_THREADS'
plain='#SBATCH -N2 -n8 --ntasks-per-node=4'
none='#SBATCH --export=none'
het='#SBATCH -N1 -n2
#SBATCH hetjob
#SBATCH -N1 -n2 -c2
#SBATCH hetjob
#SBATCH -N1 -n1'

# Of what ranks say: the ranks of the world, and NAME.THREADS*RANKS@IMAGE for each model.
models() {
    sed -nE 's/^([0-9]+: )?rank [0-9]+ of ([0-9]+), (\S+) +[0-9]+ of ([0-9]+) on n[0-9]+ in (\S+):\s+(MPICH|Open MPI) .*\[[^ ]*! ?.*/\2 \3*\4@\5/p' |
        sort -u | awk '$1 != n { printf "%s%s:", n ? " " : "", n = $1 } { printf " %s", $2 }'
}

# line TITLE MODELS COMMAND: `@IMAGE` stands for the image and --mpi-bind, after srun's options.
line() {
    [[ ! $start || ${BERTH_EVERY-} || $1 =~ ^(FRE|TSMP|CROCO|ARCHER2$|the|a) ]] || return 0
    row "$1$door" "$2" models "$(sed -E \
        "s,@([a-z]+),$start--container-image=/images/\\1.sif --mpi-bind,g" <<<"$3")"
}

# The plugin has the options, or `berth run` has them, which cannot bring back what --export=none
# drops: of each kind of step a line.
for start in '' '/usr/bin/berth run '; do
    door=${start:+, by berth run}
    # GFDL's FRE: an alias, and a script of the image.
    line "FRE" "4: atm.1*2@mpibookworm ocn.2*2@mpitrixie" "bash -O expand_aliases <<'EOF'
alias runCommand='time srun --mpi=$pmi --ntasks=2 --cpus-per-task=1 --export=ALL,OMP_NUM_THREADS=1 @mpibookworm ./execrunscript.sh atm : --ntasks=2 --cpus-per-task=2 --export=ALL,OMP_NUM_THREADS=2 @mpitrixie ./execrunscript.sh ocn'
runCommand |& tee fms.out
EOF"
    line "ESM4" "4: esm.none*4@mpitrixie" \
        "srun --mpi=$pmi -n 2 @mpitrixie ./execrunscript.sh esm : -n 2 -c 2 @mpitrixie ./execrunscript.sh esm"
    line "NEMO and XIOS of CoNES, and nextSIM and ROMS" \
        "3: ice.none*2@mpibookworm ocean.none*1@mpitrixie" \
        "srun --mpi=$pmi -n 2 @mpibookworm ./execrunscript.sh ice : -n 1 @mpitrixie ./execrunscript.sh ocean"
    line "esm_tools, components" "4: fesom.1*2@mpibookworm oifs.4*2@mpitrixie" \
        "srun --mpi=$pmi -l --kill-on-bad-exit=1 --cpu-bind=none --nodes=1 --ntasks=2 --export=ALL,OMP_NUM_THREADS=1 @mpibookworm ./execrunscript.sh fesom : --nodes=1 --ntasks=2 --export=ALL,OMP_NUM_THREADS=4 @mpitrixie ./execrunscript.sh oifs"
    line "TSMP, three groups" \
        "5: clm.none*2@mpitrixie cosmo.none*2@mpibookworm parflow.none*1@mpitrixie" \
        "srun --mpi=$pmi --het-group=0 @mpibookworm ./execrunscript.sh cosmo : --het-group=1 @mpitrixie ./execrunscript.sh clm : --het-group=2 @mpitrixie ./execrunscript.sh parflow"
    header=$het$nl$module run_rows ./submit -o field.out

    line "CEFI, three runs" "4: mom.none*4@mpibookworm 8: mom.none*8@mpibookworm" \
        "for n in 8 4 8; do
    srun --mpi=$pmi --ntasks \$n --export=ALL @mpibookworm bash ./execrunscript.sh mom >out 2>err
    cat out err
done"
    line "HPC-ME" "8: hpcme.none*8@mpitrixie" \
        "srun --mpi=$pmi --export=ALL --ntasks=8 --cpus-per-task=1 @mpitrixie ./execrunscript.sh hpcme"
    line "CROCO, XIOS and Meso-NH by --multi-prog" \
        "8: croco.2*3@mpitrixie mesonh.1*4@mpibookworm xios.2*1@mpitrixie" "cat >pise.conf <<'EOF'
0-3 @mpibookworm --container-env=OMP_NUM_THREADS=1 ./execrunscript.sh mesonh
4-6 @mpitrixie --container-env=OMP_NUM_THREADS=2 ./execrunscript.sh croco
7 @mpitrixie --container-env=OMP_NUM_THREADS=2 ./execrunscript.sh xios
EOF
srun --mpi=$pmi -v --multi-prog ./pise.conf"
    line "esm_tools, --multi-prog" "4: fesom.none*2@mpibookworm oifs.none*2@mpitrixie" \
        "printf '%s\\n' '0-1 @mpibookworm ./execrunscript.sh fesom' '2-3 @mpitrixie ./execrunscript.sh oifs' >hostfile_srun
srun --mpi=$pmi -n4 -l --kill-on-bad-exit=1 --cpu-bind=none --multi-prog hostfile_srun"
    header=$plain$nl$module run_rows ./submit -o field.out

    line "ARCHER2" "8: osu.1*8@mpibookworm" \
        "OMP_NUM_THREADS=1 srun ${start:+--export=all }--mpi=$pmi --hint=nomultithread --distribution=block:block @mpibookworm ./execrunscript.sh osu"
    line "NEMO on ARCHER2: the program by SLURM_PROCID" "8: nemo.3*2@mpitrixie xios.3*6@mpitrixie" \
        "OMP_NUM_THREADS=3 srun --mpi=$pmi --export=all @mpitrixie ./byrank.sh"
    if has_pmix; then
        line "ARCHER2, het groups in one allocation" "8: atm.2*4@mpibookworm ocn.4*4@mpitrixie" \
            "srun --mpi=pmix --het-group=0 -N1 -n4 --export=all,OMP_NUM_THREADS=2 @mpibookworm ./openmpi.sh atm : --het-group=1 -N1 -n4 --export=all,OMP_NUM_THREADS=4 @mpitrixie ./openmpi.sh ocn"
    fi
    header=$plain$nl$none$nl$module run_rows ./submit -o field.out
done

# The images of the groups in #SBATCH lines.
line "TSMP, an image in the lines of each group" \
    "5: clm.none*2@mpitrixie cosmo.none*2@mpibookworm parflow.none*1@mpitrixie" \
    "srun --mpi=$pmi --het-group=0 ./execrunscript.sh cosmo : --het-group=1 ./execrunscript.sh clm : --het-group=2 ./execrunscript.sh parflow"
image="--mpi-bind --container-image=/images"
header="#SBATCH -N1 -n2 $image/mpibookworm.sif
#SBATCH hetjob
#SBATCH -N1 -n2 $image/mpitrixie.sif
#SBATCH hetjob
#SBATCH -N1 -n1 $image/mpitrixie.sif
$module" run_rows ./submit -o field.out

# What these scripts export for `apptainer exec`: 29 mounts of the host's libraries, with its
# MPI, and no copies between ranks. One line says what that costs.
line "the old recipe is still there" "8: atm.none*8@mpibookworm" "lib=/opt/cray/pe/lib64
export ${RUNTIME}ENV_LD_LIBRARY_PATH=\$lib ${RUNTIME}_BIND=/usr/lib/x86_64-linux-gnu/libmpich.so.12:\$lib/libmpich.so.12
for it in \$(cd /usr/lib/x86_64-linux-gnu && ls lib[d-z]*.so.? | grep -vE '^lib(m|c|dl|rt|util|pthread|resolv|nss|nsl|mpi)' | head -n 28); do
    ${RUNTIME}_BIND+=,/usr/lib/x86_64-linux-gnu/\$it:\$lib/\$it
done
export ${RUNTIME}_CONTAINLIBS=/usr/lib/x86_64-linux-gnu/libz.so.1 MPICH_SMP_SINGLE_COPY_MODE=NONE
export OMPI_MCA_btl_vader_single_copy_mechanism=none UCX_TLS=^cma
srun --mpi=$pmi @mpibookworm ./execrunscript.sh atm >recipe.out 2>&1
cat recipe.out"
row "... and one line says what it costs" \
    "berth: n1: note: with --mpi-bind unset ${RUNTIME}ENV_LD_LIBRARY_PATH, ${RUNTIME}_BIND,
        ${RUNTIME}_CONTAINLIBS (host's libraries beside the image's, which may break its programs),
        MPICH_SMP_SINGLE_COPY_MODE, OMPI_MCA_btl_vader_single_copy_mechanism, UCX_TLS (MPI copies
        each message within a node twice)" \
    "grep -a 'note: with'" "cat recipe.out"

# Slurm reads no longer file before 25.05.
line "a file of more than 60 kB" "8: atm.none*8@mpibookworm" \
    "{ printf '#%06000d\\n' {1..11}; echo '* @mpibookworm ./execrunscript.sh atm'; } >long.conf
srun --mpi=$pmi --multi-prog long.conf"
[[ $release == sid ]] ||
    rows[-3]="~^srun: error: Multi_prog config file long.conf is too large.status 1\$" rows[-2]=''
header=$plain$nl$module run_rows ./submit -o field.out

finish
