#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A step in an image behaves as the same step outside: each script runs twice, with $C
# empty and with $C the image, and must print the same.

# The scripts are single-quoted on purpose: they are for the login node.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/same.sh"

need_images a b
script_submit
on login alice rm -rf t w

# Which image is this?
tool image <<'END_OF_TOOL'
#!/bin/sh
cat /etc/berth-image 2>/dev/null || echo host
END_OF_TOOL

# A shell that tells when it can be typed to.
tool shell <<'END_OF_TOOL'
#!/bin/sh
touch ready
exec sh
END_OF_TOOL

# sig FILE SIGNAL...: the step's id to FILE, and a line for each signal to FILE.got; at SIGQUIT,
# how often each came. got N: has one that writes to ready.got got so many?
tool got <<'END_OF_TOOL'
#!/bin/sh
[ "$(cat ready.got 2>/dev/null | wc -l)" -ge "$1" ]
END_OF_TOOL
tool sig <<'END_OF_TOOL'
#!/usr/bin/perl
my ($file, @names) = @ARGV;
my %seen;
my $over = 0;
open my $got, ">>", "$file.got" or die;
$SIG{$_} = sub { $seen{$_[0]}++; syswrite $got, "$_[0]\n" } for @names;
$SIG{QUIT} = sub { $over++ };
open my $out, ">", "$file.new" or die;
print $out "$ENV{SLURM_JOB_ID}.$ENV{SLURM_STEP_ID}\n";
close $out;
rename "$file.new", $file;
my $end = time + 30;
select undef, undef, undef, 0.1 until $over || time > $end;
select undef, undef, undef, 0.5;
print "$_=", $seen{$_} // 0, "\n" for @names;
print "over=$over\n";
exit 0;
END_OF_TOOL

tool_within
script_pty

# trapped FILE: take SIGUSR1 and SIGTERM, and read files of the root for a second, each
# through a program that is started for it.
tool trapped <<'END_OF_TOOL'
#!/bin/bash
exec 2>/dev/null # the shell's own words about a killed sleep
trap 'usr1=seen' USR1
trap 'term=seen' TERM
echo "$SLURM_JOB_ID.$SLURM_STEP_ID" >"$1.new"
mv "$1.new" "$1"
end=$((SECONDS + 15))
until [[ -n $usr1 && -n $term ]] || ((SECONDS > end)); do sleep 0.1; done
echo "usr1 ${usr1:-not seen}, term ${term:-not seen}"
files=0 faults=0
for file in /usr/bin/perl* /usr/bin/m* /usr/share/perl5/*.pm; do
    [[ -f $file ]] && ((files < 30)) || continue
    md5sum "$file" >/dev/null || faults=$((faults + 1))
    files=$((files + 1))
    sleep 0.03
done
((files > 9)) && echo "read, $faults faults"
END_OF_TOOL

# The open descriptors of the program itself.
tool fds <<'END_OF_TOOL'
#!/usr/bin/perl
opendir my $dir, "/proc/self/fd" or die;
my $own = fileno $dir;
my ($script) = grep { (readlink("/proc/self/fd/$_") // "") =~ m{/t/fds$} } 0 .. 30;
for (sort { $a <=> $b } grep { /^\d/ } readdir $dir) {
    my $to = readlink "/proc/self/fd/$_";
    next if !defined $to || $to =~ m{/t/fds$|^/proc/};
    print "$_ $to\n";
}
END_OF_TOOL

# The environment, one variable in a line; the arguments say which.
tool variables <<'END_OF_TOOL'
#!/usr/bin/perl
my $want = qr/$ARGV[0]/;
my $not = defined $ARGV[1] ? qr/$ARGV[1]/ : qr/^(?!)/;
for (sort keys %ENV) {
    next if !/$want/ || /$not/;
    (my $value = $ENV{$_}) =~ s/([^ -~])/sprintf "<%02x>", ord $1/ge;
    print "$_=$value\n";
}
END_OF_TOOL

# Speak PMI-2's first words over the descriptor that Slurm left open.
tool pmi <<'END_OF_TOOL'
#!/usr/bin/perl
open my $pmi, "+<&=", $ENV{PMI_FD} or die "PMI_FD=$ENV{PMI_FD}: $!\n";
syswrite $pmi, "cmd=init pmi_version=2 pmi_subversion=0\n";
sysread $pmi, my $answer, 200;
print $answer;
END_OF_TOOL

# ---- jobs: what a default reaches, and what stays on the host

# batch_of HEADER SCRIPT: a script that submits both as a batch script, whose default is $C,
# and prints what that has printed.
batch_of() {
    printf 'cat >job.sh <<"END"\n#!/bin/bash\n%s\nt=$HOME/t\n%s\nEND\n' "$1" "$2"
    printf '$HOME/submit -o job.out $C job.sh && cat job.out\n'
}

inside "sbatch: the script is on the host, the steps in the image" "host a host b" \
    "$(batch_of "" '$t/image; srun $t/image; srun --container-image=none $t/image;
        srun --container-image=/images/b.sif $t/image')"
inside "#SBATCH: the same" "host a a host" \
    "C=; $(batch_of "#SBATCH -n2 $A" \
    '$t/image; srun -n2 $t/image; srun -n1 --container-image=none $t/image')"
inside "salloc COMMAND is on the host, its steps in the image" "host a host" \
    'salloc -Q $C bash -c "$t/image; srun $t/image; srun --container-image=none $t/image"'
inside "a job submitted inside a job does not inherit its image" "host host a" \
    "$(batch_of "" 'cd $HOME/w; $HOME/submit -o two.out --wrap "srun $t/image"; cat two.out;
        salloc -Q srun $t/image; srun $t/image')"
inside "a job submitted inside a job takes its own image" "b a" \
    "$(batch_of "" 'cd $HOME/w
        $HOME/submit -o two.out --container-image=/images/b.sif --wrap "srun $t/image"
        cat two.out; srun $t/image')"
inside "a step inside a step on the host has the job's default, not the step's" "host a" \
    'salloc -Q $C srun --overlap --container-image=none bash -c "$t/image; srun --overlap $t/image"'
enclosed='--container-mounts=/usr:/usr,/etc/slurm:/etc/slurm,/run/munge:/run/munge,/etc/passwd:/etc/passwd'
inside "a step inside a step in another image has the job's default" "b a" \
    "salloc -Q \$C srun --overlap --container-image=/images/b.sif $enclosed bash -c '\$HOME/t/image; srun --overlap \$HOME/t/image'"
inside "a step inside a step in an image, without a default of the job" "b host" \
    "salloc -Q srun --overlap --container-image=/images/b.sif $enclosed bash -c '\$HOME/t/image; srun --overlap \$HOME/t/image'"
inside "--export=NONE: the default reaches the steps" "host a" \
    'C="$C --export=NONE"; '"$(batch_of "" '$t/image; srun $t/image')"
inside "an array: each element has its number and the image" "1 a 2 a 3 a 4 a" \
    '$HOME/submit --array=1-4 -o a.%a $C --wrap "srun sh -c \"echo \\\$SLURM_ARRAY_TASK_ID \\\$(\$HOME/t/image)\""; cat a.*'
inside "an array: an image for each element" "a b" \
    'for i in a b; do echo $i; done >list; $HOME/submit --array=1-2 -o a.%a --wrap \
        "srun --container-image=/images/\$(sed -n \${SLURM_ARRAY_TASK_ID}p list).sif \$HOME/t/image"; cat a.*'
inside "--overlap: two steps at one time in two images" "b a host" \
    'salloc -Q -n1 bash -c "srun --overlap $C sh -c \"\$HOME/t/within 60 test -e two; \$HOME/t/image\" &
        srun --overlap --container-image=/images/b.sif sh -c \"\$HOME/t/image; sleep 0.3; touch two\"; wait; srun $t/image"'
inside "srun --jobid from another shell takes its own image" "a host" \
    'job=$(salloc --no-shell -n1 2>&1 | sed -n "s/.*Granted job allocation //p")
     srun --jobid=$job $C $t/image; srun --jobid=$job $t/image; scancel $job'

# An interactive step is the shell of salloc, moved to the first node.
inside "salloc: the interactive step is on the host, its steps in the image" "in:n1:host:a:" \
    'sed "\$aLaunchParameters=use_interactive_step" /etc/slurm/slurm.conf >slurm.conf
     cp /etc/slurm/cgroup.conf . 2>/dev/null
     { $t/within 60 test -e ready
     echo "echo in:\$(hostname):\$(\$HOME/t/image):\$(srun \$HOME/t/image):; exit"; } |
     SLURM_CONF=$PWD/slurm.conf SHELL=$t/shell ~/pty.py salloc -Q -w n1 $C | tr -d "\r" |
     grep -o "in:n[0-9]:.*:"'
same "the environment of the batch script" \
    "$(batch_of "#SBATCH -w n1" '$t/variables "^SLURM|^BERTH" "SLURM_BERTH_JOB"; srun true')" \
    'SLURM_JOB_ID=X'

# ---- input and output

same "stdin: 1 MB, byte for byte" \
    'perl -e "srand 1; print pack q(C*), map { int rand 256 } 1..1048576" >blob
        srun $C md5sum <blob; md5sum <blob' \
    '([0-9a-f]{32})  -\n\1'
same "stdout: 1 MB, byte for byte" \
    'perl -e "srand 2; print pack q(C*), map { int rand 256 } 1..1048576" >blob; srun $C cat blob |
    md5sum; md5sum <blob' \
    '([0-9a-f]{32})  -\n\1'
same "stdin: the end of file arrives" \
    'echo -n abc | srun $C cat; srun $C cat </dev/null; echo; echo over' 'abc'
same "stdin to all tasks" 'echo one | srun -n3 $C cat' 'one\none\none'
same "stdin to one task" \
    'echo one | srun -n3 --input=1 $C sh -c "echo \$SLURM_PROCID:\$(cat)" | sort' '1:one'
same "stdin is not read by who does not want it" 'seq 100000 | srun $C true; echo $?' '^0'
same "stdout closed early" 'srun $C seq 1000000 2>/dev/null | head -n 2' '^1\n2\n'
same "--output, --error and --input with patterns" \
    'echo in >in
        srun -N2 -w n1,n2 -n2 --input=in --output=o.%t.%N.%j --error=e.%n.%s $C sh -c "cat; echo err >&2"
     for f in o.* e.*; do echo "$f: $(cat $f)" | sed -E "s/(o.*)\.[0-9]+:/\1.J:/"; done' \
    'o\.0\.n1\.J: in\no\.1\.n2\.J: in\ne\.0\.0: err'
same "--output without --error: the file has the program's bytes only" \
    'in=/usr/bin/srun; check() { cmp $in "$1" && echo same; rm "$1"; }
     srun -v -i $in -o o $C cat 2>/dev/null; check o
     srun ${C:+--mpi-bind} -i $in -o o $C cat 2>/dev/null; check o
     SLURM_DEBUG=1 srun -n2 -i $in -o o.%t $C cat 2>/dev/null; check o.0; check o.1' \
    '^same\nsame\nsame\nsame'
# No --input with a pattern: Slurm 22.05 to 26.05 lose every step with one that takes longer
# than a moment, also on the host and without our plugin.
same "--output=none" \
    'srun --output=none $C sh -c "echo no; touch yes"; srun -o none -e err $C sh -c "echo err >&2"
        cat err; ls' 'err\nerr\nyes'
same "--output to the task that is named" 'srun -n3 --output=2 $C sh -c "echo \$SLURM_PROCID"' '^2'
same "--label" 'srun -N2 -n4 -w n1,n2 --label $C sh -c "echo to \$SLURM_PROCID; echo e >&2" 2>&1 |
    sort' '3: to 3'
same "--unbuffered" 'srun -u $C sh -c "printf a; sleep 0.2; printf b"' 'ab'
same "standard output and standard error stay apart" 'srun $C sh -c "echo o; echo e >&2"' \
    'o\n--- standard error\ne'
same "what the task has open" \
    'srun $C $t/fds; srun $C $t/fds <job.none; srun -n2 -l $C $t/fds | sort' '0 pipe'
same "what the task has open, with files" \
    'srun --input=/etc/hostname --output=fds.%t $C $t/fds; sed s,$PWD,W, fds.0' '1 '
same "what a second step has open" 'salloc -Q -n2 bash -c "srun $C true; srun $C $t/fds"' '0 pipe'

pty() {
    printf 'true | ~/pty.py sh -c "stty rows 33 cols 77; srun %s" | tr -d "\\r" |
        grep -v "error: n"; echo "${PIPESTATUS[@]}"' "$1"
}
same "--pty: a terminal of the right size, and the exit code" \
    "$(pty '--pty $C sh -c \"tty; stty size; exit 3\"')" '/dev/pts/N\n33 77'
same "--pty: descriptors" "$(pty '--pty $C $t/fds')" '0 /dev/pts/N\n1 /dev/pts/N'
same "--pty: it is the controlling terminal" "$(pty \
    '--pty $C sh -c \"echo to the terminal >/dev/tty\"')" 'to the terminal'
same "--pty: a shell reads what is typed" \
    '{ $t/within 60 test -e ready; echo "echo 4\$((2))"; echo "exit 5"; } |
     ~/pty.py srun --pty $C $t/shell | tr -d "\r" | grep -o "42$"; echo "${PIPESTATUS[1]}"' '42\n5'
same "--pty: Ctrl-C reaches the program, once" \
    '{ $t/within 60 test -e ready; printf "\003"; $t/within 60 test -e over
        } | ~/pty.py srun --pty $C bash -c "trap \"n=\\\$((n+1))\" INT; touch ready; for i in {1..600}; do [ -z \"\$n\" ] || break; sleep 0.1; done; sleep 0.5; echo int=\$n=; touch over; exit 6" |
     tr -d "\r" | grep -o "int=.*="; echo "${PIPESTATUS[1]}"' 'int=1=\n6'
same "--pty: job control" \
    "$(pty '--pty $C bash -ic \"sleep 0.2 & fg; set -o | grep monitor\"' |
    sed 's/; echo/ | sed \"s,^.1. .*,[1],\"; echo/')" 'monitor *.on'

# ---- --multi-prog

on login alice bash -c 'cat >t/multi.conf' <<'END_OF_TOOL'
# a comment
0      sh -c 'echo task %t offset %o of all'

1-2    echo range %t:%o
3,5    perl t/words 'a  b' e\ f "g
  # another, with 4 echo wrong
4      perl t/words 'a "b" c' %% \\ $HOME '' it\'s *
6      perl t/words \
           on the next line
*      echo rest %t
END_OF_TOOL
tool words <<'END_OF_TOOL'
#!/usr/bin/perl
print "$ENV{SLURM_PROCID} ", join("|", @ARGV), "\n";
END_OF_TOOL
same "--multi-prog: ranges, comments, quotes, %t and %o" \
    'cd; srun -n9 $C --multi-prog t/multi.conf | sort' '4 a "b" c\|'
same "--multi-prog on several nodes" 'cd; srun -N3 -n9 -l $C --multi-prog t/multi.conf | sort -n' \
    'range 2:1'
same "--multi-prog: the host's program is not taken for ours" \
    'printf "%s\n" "0 echo /usr/libexec/berth/berth-task x" "1 echo %t" >m.conf
        srun -n2 $C --multi-prog m.conf | sort' \
    '/usr/libexec/berth/berth-task x'
same "an argument that names our program" \
    'srun $C echo "/usr/libexec/berth/berth-task x"
        srun $C echo "0 /usr/libexec/berth/berth-task true" a;
     srun $C printf "%s\n" "#!/bin/sh
0 /usr/libexec/berth/berth-task x
" b' \
    '^/usr/libexec/berth/berth-task x'
same "an argument of the program is not our --multi-prog" \
    'srun -n2 $C echo --multi-prog "0 a"; srun -n2 $C -- echo --multi-prog' '--multi-prog 0 a'
same "--multi-prog: exit codes" \
    'printf "%s\n" "0 sh -c \"exit 3\"" "1 sh -c exit\ 4" "2 true" >m.conf
        srun -n3 $C --multi-prog m.conf 2>/dev/null; echo $?'
inside "--multi-prog in a job that has an image" 'a a' \
    'echo "* $HOME/t/image" >m.conf; salloc -Q -n2 $C srun --multi-prog m.conf'

# ---- what a process has

same "uid, gid, umask" \
    'umask 027; srun $C sh -c "id -u; id -g; umask; touch f"; stat -c "%a %U %G" f' \
    '0027\n640 alice alice'
same "the working directory" \
    'srun $C pwd; mkdir d; srun --chdir=d $C pwd; srun -D /tmp $C pwd; cd d
        srun $C sh -c "pwd; /bin/pwd; touch here"; ls' 'here'
same "the working directory is a link" \
    'mkdir d; ln -s d l; cd l; srun $C sh -c "pwd; /bin/pwd"; srun --chdir=$PWD $C /bin/pwd' '/w/'
same "the working directory can be entered and not read" \
    'mkdir d; cd d; chmod 311 .; srun $C sh -c "pwd; touch here"; srun -n2 $C cat /dev/null
        chmod 755 .; ls' 'here'
same "limits" 'srun $C bash -c "ulimit -Sa; ulimit -Ha"' 'stack size'
limits='ulimit -S -n 512; ulimit -S -s 4096; ulimit -S -c 0; ulimit -H -u 9000; ulimit -S -t 1000;'
for propagate in NONE STACK,CORE,NPROC; do
    same "limits, --propagate=$propagate" \
        "$limits srun --propagate=$propagate \$C bash -c 'ulimit -Sa; ulimit -Ha'" 'stack size'
done
same "limits that are too low for the runtime are the application's alone" \
    'for l in v:200000 d:60000 f:1; do (ulimit -S -${l%:*} ${l#*:}
        srun $C bash -c "ulimit -Sa; ulimit -Ha" 2>&1); done | cat' 'stack size'
same "signals that are blocked, ignored and caught" \
    'srun $C grep -E "^Sig(Blk|Ign|Cgt)|^Umask|^Cpus_allowed|^Mems_allowed|^Seccomp:|^TracerPid" /proc/self/status' 'SigIgn'
same "an ignored signal stays ignored" \
    '(trap "" USR2 PIPE; srun $C grep -E "^SigIgn" /proc/self/status)' 'SigIgn'
same "niceness and out-of-memory score" \
    'srun $C sh -c "nice; cat /proc/self/oom_score_adj"; srun --nice=5 $C nice' '0'
same "PATH's program and its name" \
    'srun $C cat /proc/self/cmdline | tr "\0" " "; echo; srun $C /bin/cat /proc/self/cmdline |
    tr "\0" " "; echo' 'cat'
same "--bcast" 'cp /bin/echo ./say; srun -N2 --bcast=/tmp/say.$USER $C ./say hello
    srun -N2 rm -f /tmp/say.$USER' 'hello\nhello'

# ---- the environment

same "SLURM_*: 1 task" 'srun -w n1 $C $t/variables "^SLURM"' 'SLURM_NTASKS=1'
same "SLURM_*: 4 tasks on 2 nodes" \
    'for i in 0 1 2 3; do
    srun -w n1,n2 -N2 -n4 -c2 -J name --comment=c $C sh -c "[ \$SLURM_PROCID != $i ] || $t/variables ^SLURM"; done' \
    'SLURM_NTASKS=4'
same "SLURM_*: a step in an allocation" \
    'salloc -Q -w n1,n2 -N2 -n6 bash -c "srun -n3 -l $C $t/variables ^SLURM \"^SLURM_JOB_(ID|START)\" | sed -E \"s/((ID|PORT|TIME|LUID)=).*/\1X/\" | sort"' \
    'SLURM_NTASKS=3'
same "SLURM_*: --export=NONE" 'srun -w n1 --export=NONE $C /usr/bin/perl $t/variables "^SLURM"' \
    'SLURM_NTASKS=1'
same "nothing of berth is in the environment but the way to srun" \
    'srun $C $t/variables BERTH "^BERTH_(TEST_IMAGE|INSIDE)"; srun --export=NONE $C /usr/bin/perl $t/variables BERTH "^BERTH_(TEST_IMAGE|INSIDE)"
     echo "* $t/variables BERTH ^BERTH_(TEST_IMAGE|INSIDE)" >m.conf; srun -n2 $C --multi-prog m.conf; echo over' '^over'
# What the runtime and the image set: see spank_berth(8).
runtimes='^(C$|SLURM|APPTAINER|SINGULARITY|PS1|PROMPT_COMMAND|USER_PATH|PATH|LD_LIBRARY_PATH|BERTH_TEST_IMAGE|BERTH_INSIDE)'
same "every other variable" \
    "export ONE=1 'TWO=a b' THREE=\$'c\\nd' FOUR='\"q\" \\\\ \$(x) \`y\`' FIVE= SIX=déjà SEVEN==x=
        f() { :; }; export -f f;
     srun \$C \$t/variables . '$runtimes'" 'THREE=c<0a>d'
same "a variable that is not UTF-8" \
    "export BYTES=\$'\\xff\\xe9\\x80'; srun \$C \$t/variables ^BYTES" 'BYTES=<ff><e9><80>'
# Apptainer adds HOME and PWD where they are not, and we what says who the user is.
same "--export=A,B=c" \
    "export ONE=1 TWO=2; srun --export=ONE,NEW=x \$C /usr/bin/perl \$t/variables . '${runtimes/PS1/HOME|LANG|LOGNAME|PWD|SHELL|USER|PS1}'" 'NEW=x'
same "--mpi=pmi2: PMI_FD is open and answers" \
    'srun -n2 --mpi=pmi2 $C $t/pmi; srun --mpi=pmi2 $C $t/fds | sed "s/^[0-9][0-9] /NN /"' \
    'response-to-init.*rc=0|cmd=response.*rc=0'

# ---- prologs

tool prolog <<'END_OF_TOOL'
#!/bin/sh
echo export FROM_PROLOG=yes $SLURM_PROCID
echo export LATE_PATH=/opt/x:/y
echo unset GONE
echo print prolog says hello
END_OF_TOOL
tool epilog <<'END_OF_TOOL'
#!/bin/sh
echo "epilog $SLURM_PROCID $(cat /etc/berth-image 2>/dev/null || echo host)" >epilog.out
END_OF_TOOL
same "--task-prolog and --task-epilog" \
    'export GONE=1 STAY=2; srun --task-prolog=$t/prolog --task-epilog=$t/epilog $C $t/variables "GONE|STAY|FROM|LATE"
     $t/within 60 test -s epilog.out; cat epilog.out' 'FROM_PROLOG=yes'
same "a task prolog sees what a task sees" \
    'printf "#!/bin/sh\n/home/alice/t/variables BERTH\n/home/alice/t/variables ^SLURM >prolog.out" >p; chmod +x p
     srun -w n1 --task-prolog=$PWD/p $C true; cat prolog.out' 'SLURM_PROCID=0'
site_prolog=/etc/slurm/site-prolog
on n1 root bash -c "cp /etc/slurm/slurm.conf /etc/slurm/slurm.conf.saved
        printf '#!/bin/sh\necho export SITE=yes\necho unset GONE\necho print site prolog\n' >$site_prolog; chmod +x $site_prolog
        echo TaskProlog=$site_prolog >>/etc/slurm/slurm.conf"
"$tool" restart "$name" n1 >/dev/null 2>&1
same "the site's TaskProlog" \
    'export GONE=1 STAY=2; srun -w n1 $C $t/variables "GONE|STAY|SITE"; srun -w n1 -n3 --task-prolog=$t/prolog $C $t/variables "GONE|SITE|FROM" | sort' \
    'SITE=yes'
on n1 root mv /etc/slurm/slurm.conf.saved /etc/slurm/slurm.conf
on n1 root rm -f "$site_prolog"
"$tool" restart "$name" n1 >/dev/null 2>&1

# ---- how a task ends

for code in 0 7 127 128 255; do
    same "exit code $code" "srun -w n1 \$C sh -c 'exit $code'"
done
same "exit codes of several tasks" 'srun -w n1 -n4 $C sh -c "exit \$SLURM_PROCID"' 'exit status 3'
for signal in SEGV KILL TERM PIPE; do
    same "death by SIG$signal" "srun -w n1 \$C sh -c 'kill -$signal \$\$; sleep 5'"
    same "death by SIG$signal, of two tasks on two nodes" \
        "srun -w n1,n2 -N2 -n2 \$C sh -c 'kill -$signal \$\$; sleep 5' 2>&1 | sort
            echo \${PIPESTATUS[0]}"
done
same "death by a fault, with a core file" \
    "ulimit -S -c unlimited 2>/dev/null
        srun -w n1 --propagate=CORE \$C sh -c 'kill -SEGV \$\$; sleep 5'" 'Segmentation fault'
same "--kill-on-bad-exit" \
    'SECONDS=0; srun -w n1,n2 -N2 -n2 -K $C sh -c "[ \$SLURM_PROCID = 1 ] && sleep 0.5 && exit 3; exec sleep 30" 2>&1 | grep -v CANCELLED | sort -u; echo ${PIPESTATUS[0]}; ((SECONDS < 15)) && echo soon' \
    'soon'
same "--kill-on-bad-exit=0" \
    'srun -w n1 -n2 -K0 $C sh -c "[ \$SLURM_PROCID = 1 ] && exit 3; sleep 0.5; echo still here"' \
    'still here'
same "--wait" 'SECONDS=0
    srun -w n1 -n2 --wait=1 $C sh -c "[ \$SLURM_PROCID = 1 ] || exec sleep 30" 2>&1 |
    sed "/CANCELLED/d; s, aborted: .*, aborted," | sort -u; echo ${PIPESTATUS[0]}
    ((SECONDS < 15)) && echo soon' 'soon'
same "sbatch --wait has the exit code of the script" \
    'sbatch -W -w n1 -o job.out $C --wrap "srun sh -c \"exit 9\"" >/dev/null; echo $?
        cat job.out' '^9\nsrun: error'

# ---- signals

# Each signal three times to a step that counts them.
same "scancel -s: every signal arrives as often as outside" \
    's="USR1 USR2 HUP INT ALRM CONT TERM"
        srun -w n1 $C $t/sig ready $s & $t/within 60 test -e ready; n=0
        for s in $s; do for i in 1 2 3; do scancel -s $s $(cat ready); $t/within 5 $t/got $((++n))
        done; done
        scancel -s QUIT $(cat ready); wait $!; echo $?' 'USR1=3\n(.*=3\n)*over=1'
same "a signal to the task's own process" \
    'srun -w n1 $C bash -c "n=0; trap \"n=\\\$((n+1))\" USR1; kill -USR1 \$\$; sleep 0.3; echo own \$n"' 'own 1'
same "a signal to the task's process group" \
    'srun -w n1 $C bash -c "n=0; trap \"n=\\\$((n+1))\" USR1; kill -USR1 0; sleep 0.3; sleep 0.3; echo group \$n"' 'group 1'
same "a signal to SLURM_TASK_PID" \
    'srun -w n1 $C bash -c "n=0; trap \"n=\\\$((n+1))\" USR1; kill -USR1 \$SLURM_TASK_PID; sleep 0.3; sleep 0.3; echo task \$n"' 'task 1'
same "SIGUSR1 and SIGTERM trapped, then files of the root are read, in four tasks on two nodes" \
    'srun -w n1,n2 -N2 -n4 $C sh -c "exec $t/trapped ready.\$SLURM_PROCID" & for i in 0 1 2 3; do
    $t/within 60 test -e ready.$i; done
     scancel -s USR1 $(cat ready.0); sleep 0.3; scancel -s TERM $(cat ready.0); wait $!; echo $?' \
    '(usr1 seen, term seen\n|read, 0 faults\n){8}'
same "SIGSTOP and SIGCONT" \
    'srun -w n1 $C bash -c "echo \$SLURM_JOB_ID.\$SLURM_STEP_ID >ready; until [ -e end ]; do echo . >>ready.got; sleep 0.1; done; echo over" &
     $t/within 60 $t/got 1; step=$(cat ready); scancel -s STOP $step; sleep 0.5
     a=$(wc -l <ready.got); sleep 0.5; b=$(wc -l <ready.got)
     echo $((b - a)); scancel -s CONT $step; $t/within 10 $t/got $((b + 1)) && echo goes on
     touch end; wait' '^0\ngoes on'
for signal in USR1 KILL; do
    same "scancel -s $signal ends a step" \
        "srun -w n1 \$C sh -c 'echo \$SLURM_JOB_ID.\$SLURM_STEP_ID >ready; exec sleep 30' & \$t/within 60 test -s ready
         scancel -s $signal \$(cat ready); wait \$!; echo \$?"
done
same "scancel ends a job" \
    'srun -w n1 -n2 $C sh -c "echo \$SLURM_JOB_ID >ready; exec sleep 30" & $t/within 60 test -s ready
     scancel $(cat ready); wait $!; echo $?
     $t/within 60 sh -c "! srun -w n1 pgrep -u alice sleep >left"; cat left'
same "scancel: a program that traps SIGTERM can tidy up" \
    'srun -w n1 $C bash -c "trap \"sleep 1; cat /etc/os-release >/dev/null && echo tidy >tidied; exit 0\" TERM; echo \$SLURM_JOB_ID >ready; while :; do sleep 0.1; done" 2>/dev/null &
     $t/within 60 test -s ready; scancel $(cat ready); wait $!; $t/within 60 test -s tidied
     cat tidied' '^tidy'
# srun sends SIGINT and, without waiting, SIGKILL: the program may win or not, and what the
# shell says about its job tells which.
same "--quit-on-interrupt" \
    '{ set -m; srun -w n1 --quit-on-interrupt $C bash -c "trap \"exit 5\" INT; touch ready; while :; do sleep 0.1; done" & $t/within 60 test -e ready; kill -INT $!; wait $!; case $? in 5 | 137) echo ended ;; esac; } 2>/dev/null' 'ended'
same "SIGUSR1 to srun is handed on" \
    'srun -w n1 $C $t/sig ready USR1 & $t/within 60 test -e ready; kill -USR1 $!
        $t/within 5 $t/got 1; scancel -s QUIT $(cat ready); wait $!; echo $?' 'USR1='
same "SIGTERM to srun ends the step" \
    'srun -w n1 $C sh -c "touch ready; exec sleep 30" 2>/dev/null & $t/within 60 test -e ready
        kill -TERM $!; wait $!; echo $?'

# ---- no option of ours: as without the plugin

plain='srun -w n1 $t/variables .; srun -w n1 -n2 -l $t/fds | sort; srun -w n1 sh -c "$t/fds; ulimit -a; id; pwd; exit 3"
    srun -w n1 grep -E "^(Umask|State|Groups|Uid|Gid|Seccomp|NoNewPrivs|Sig[A-P]|Cap|Cpus|Mems|Threads|TracerPid)" /proc/self/status
    srun -w n1 --mpi=pmi2 $t/fds | sed "s/^[0-9][0-9] /NN /"; $HOME/submit -w n1 -o job.out --wrap "$t/variables .; $t/fds; srun $t/variables ."; cat job.out
    srun -w n1 --export=NONE /usr/bin/perl $t/variables .; srun -w n1 cat /proc/self/cmdline | tr "\0" " "'
run_script inside "" "$plain"
set_plugin "login n1" off
run_script outside "" "$plain"
set_plugin "login n1" on
judge_same "a step without our options is the same with and without the plugin" 'SLURM_NTASKS=1'
equal "the plugin is back" a "$(alice srun -w n1 "$A" t/image)"

finish
