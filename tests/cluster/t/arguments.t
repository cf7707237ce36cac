#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Arguments, and the values of our options, reach the program byte for byte.

# The scripts are single-quoted on purpose: they are for the login node.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/same.sh"

need_images a b
script_submit
on login alice rm -rf t w 'with space' "it's"

# Each argument as numbers; its length and a sum where it is long.
tool words <<'END_OF_TOOL'
#!/usr/bin/perl
print scalar(@ARGV), " words\n";
for (@ARGV) {
    last if $shown++ > 20;
    print length > 600 ? length() . " bytes, sum " . unpack("%32C*", $_) : unpack("H*", $_), "\n";
}
END_OF_TOOL

tool_within

# The bytes of variables.
tool variables <<'END_OF_TOOL'
#!/usr/bin/perl
print "$_=", defined $ENV{$_} ? unpack("H*", $ENV{$_}) : "not set", "\n" for @ARGV;
END_OF_TOOL

# As the program itself sees its words: argv tells argv[0], and rest does not. Static: the
# image need not have our libc.
alice bash -c 'cat >t/argv.c && cc -static -o t/argv t/argv.c &&
    cc -static -DREST -o t/rest t/argv.c' <<'END_OF_TOOL'
#include <stdio.h>
int main(int argc, char **argv)
{
#ifdef REST
    argv[0] = "rest";
#endif
    for (int i = 0; i < argc; i++)
        printf("%s%s", i ? " " : "", argv[i]);
    printf("\n");
    return 0;
}
END_OF_TOOL

# ---- arguments

# words TITLE WORDS [PATTERN]: WORDS in the shell's own quoting.
words() {
    same "argv: $1" "srun \$C \$t/words $2" "${3:-words}"
}
words "none" "" "^0 words"
words "spaces and empty words" "'a b' ' ' '  c  ' '' ' d' ''" "^6 words\n612062\n20\n"
words "quotes" "\"'\" \"it's\" '\"' 'say \"x y\"' 'a\"b'" "^5 words\n27\n"
words "dollars, backquotes and backslashes" \
    "'\$(x)' '\${HOME}' '\`id\`' '\$' '\\' '\\\\' 'a\\nb' '\\\"' 'end\\'" "^9 words\n24287829\n"
words "what a shell would expand" \
    "'*' '?' '[a-z]' '~' '~alice' '{a,b}' '!' '#' ';' '&' '|' '<' '>' '(' ')'" "^15 words\n2a\n"
words "newlines and tabs" "\$'a\\nb' \$'\\n' \$'\\t' \$'\\r\\n' \$'a\\n\\nb\\n'" \
    "^5 words\n610a62\n0a\n09\n0d0a\n"
words "every byte, 1 to 255" "\"\$(perl -e 'print pack q(C*), 1..255')\"" \
    "0102030405060708090a.*feff"
words "bytes that are not UTF-8" \
    "\$'\\xff' \$'caf\\xe9' \$'\\xc3' \$'\\xed\\xa0\\x80' \$'\\xc0\\x80'" "^5 words\nff\n636166e9\n"
words "what looks like our options, -- in the middle" \
    "-- --report 3 --place x --env A=b -- b -- --" "^11 words\n2d2d\n"
# Without the -- srun warns of what may be a mistake (mistakes.t).
words "what looks like options of srun" \
    "-- -n 4 --container-image=none --het-group=1 --multi-prog -h --help" "^8 words"
words "what looks like options of the runtime, and a variable" \
    "--bind /x:/y -B --pwd / --env X=y exec run A=b PATH=/x =x =" "^13 words"
words "100 KB in one word" "\"\$(printf '%0100000d' 7)\"" "^1 words\n100000 bytes"
words "10,000 words" "\$(seq 10000)" "^10000 words"
same "argv: -- before the program" 'srun $C -- $t/words -- a' '^2 words'
same "argv: in a batch script with a default" \
    'printf "%s\n" "#!/bin/bash" "srun \$HOME/t/words \"a b\" \"\" \"it'"'"'s\" \$'"'"'n\\nl'"'"'" >job.sh; ~/submit -o out $C job.sh; cat out' \
    '^4 words\n612062\n\n69742773\n6e0a6c'
same "argv: each component has its own" \
    'srun -n1 $C $t/words "a b" : -n1 $C $t/words : -n1 $C $t/words "" c | sort' \
    '0 words\n1 words\n2 words\n612062'
same "sh -c with its own quoting" \
    'srun $C sh -c "printf \"<%s>\" \"\$@\"; echo; x=\"a  b\"; echo \"\$x\" '"'"'\$x'"'"'" name "p q" "" "*"' '<p q><><\*>'

# ---- the program's name

same "argv[0]: an absolute path" 'srun $C $t/argv a; srun $C //home/alice/t/../t/argv b' \
    '^/home/alice/t/argv a'
same "argv[0]: a relative path with ./" \
    'cp $t/argv .; srun $C ./argv a; srun $C ../w/argv b; srun --chdir=/home $C alice/w/argv c' \
    'argv a'
same "argv[0]: a relative path without ./" 'mkdir d; cp $t/argv d; srun $C d/argv a' 'd/argv a'
same "argv[0]: a program on the PATH" \
    'srun $C --export=ALL,PATH=$t:$PATH cat /proc/self/cmdline | tr "\0" " "; echo' 'cat'
same "a program in the home directory" \
    'cp $t/rest ~/prog.here; cd; srun $C ./prog.here a; srun $C ~/prog.here b; rm prog.here' \
    'rest a'
same "a relative path with --chdir" \
    'mkdir d; cp $t/rest d/prog; srun --chdir=d $C ./prog a; srun -D $PWD/d $C ./prog b' 'rest a'
same "a program whose name has spaces and quotes" \
    'cp $t/rest "a b"
        cp $t/rest "it'"'"'s"; cp $t/rest "say \"x\""; srun $C "./a b" 1; srun $C "./it'"'"'s" 2; srun $C "./say \"x\"" 3; srun $C "$PWD/a b" 4' 'rest 1'
same "a program whose name starts with a dash" \
    'cp $t/rest ./-n; srun $C -- ./-n 1; srun $C -- $PWD/-n 2' 'rest 1'
same "a script with an interpreter" \
    'printf "#!/bin/sh -e\necho \"\$0\" \"\$@\"\n" >"my script"; chmod +x "my script"
        srun $C "$PWD/my script" "a b"' 'my script a b'
# Slurm ends with 8 here, and we with 126, as spank_berth(8) says.
run_script inside "$A" 'echo "echo ran" >plain; chmod +x plain; srun $C ./plain'
matches "a script without an interpreter is not run" \
    "command './plain' cannot be started .Exec format error.; .*exit status 126" \
    "$(paste -sd' ' "$work/inside")"
same "a directory with spaces and quotes" \
    'd="a  b '"'"' \" \$x"; mkdir "$d"; cd "$d"; srun $C pwd; srun $C ls -a; cp $t/rest .; srun $C ./rest a' 'a  b'
same "--chdir with spaces" 'mkdir "c d"; srun --chdir="$PWD/c d" $C pwd' 'c d'

# ---- --container-env

# env_is TITLE VALUE [TEXT]: what TEXT (usually VALUE) gives.
env_is() {
    local hex
    hex=$(printf %s "$2" | od -An -tx1 -v | tr -d ' \n')
    inside "--container-env: $1" "V=$hex" "srun \$C --container-env=V=${3:-${2@Q}} \$t/variables V"
}
env_is "nothing" ""
env_is "commas" "a,b,,c" "'a\\,b\\,\\,c'"
# shellcheck disable=SC1003 # a backslash at the end
env_is "blanks, quotes, dollars, backslashes and newlines" \
    $' =a=b= it\'s "x" $(x) `id` ${A} a\\\\b\\n\n\nc\\'
env_is "UTF-8, and bytes that are not" $'déjà 日本 🌍 caf\xe9 \xff'
env_is "a long value" "$(printf '%020000d' 7)"
inside "--container-env: NAME passes the value of the task" "V=622c6320220a64 W=not set" \
    'V="b,c \"
d" srun $C --container-env=V,W $t/variables V W'
inside "--container-env: the last of several wins, in one option and over several" "A=34 B=32" \
    'srun $C --container-env=A=1,B=2,A=3 --container-env=A=4 $t/variables A B'
inside "--container-env: over the image's own variables" "BERTH_TEST_IMAGE=78 PATH=2f78" \
    'srun $C --container-env=BERTH_TEST_IMAGE=x --container-env=PATH=/x /usr/bin/perl $t/variables BERTH_TEST_IMAGE PATH'
inside "--container-env: over the task's own variables, and what the prolog sets" \
    "ONE=696e TWO=696e" \
    'printf "#!/bin/sh\necho export TWO=prolog\n" >p; chmod +x p
     ONE=host srun --task-prolog=$PWD/p $C --container-env=ONE=in,TWO=in $t/variables ONE TWO'
inside "--container-env: the job's come first, the step's win" "A=31 B=34" \
    'salloc -Q $C --container-env=A=1,B=2 srun --container-env=B=4 $t/variables A B'
inside "--container-env: PATH finds the program" "found" \
    'mkdir bin; printf "#!/bin/sh\necho found\n" >bin/findme; chmod +x bin/findme
        srun $C --container-env=PATH=$PWD/bin:/usr/bin:/bin findme'

# The runtime and what it mounts are the same with every Slurm.
if thorough; then
    # ---- --container-args, --container-entrypoint, --container-writable

    inside "--container-args: several flags, and repeats" "V=76 W=77 HOST=6e6f" \
        'srun $C --container-args="--env V=v  --env  W=w" --container-args="--env HOST=no" $t/variables V W HOST'
    inside "--container-args: --cleanenv" "MINE=not set" \
        'MINE=x srun $C --container-args=--cleanenv $t/variables MINE'
    inside "--container-entrypoint: the runscript gets the words" "runscript echo a  b  it's *" \
        'srun $C --container-entrypoint echo "a  b" "" "it'"'"'s" "*"'
    inside "--container-entrypoint: given to the job" "runscript x y" \
        'salloc -Q $C --container-entrypoint srun x y'
    same "without --container-entrypoint the command alone runs" 'srun $C echo a b' '^a b'
    inside "the root of the image is read-only" "1" \
        'srun $C sh -c "touch /opt/x 2>/dev/null || echo 1"'
    writable='srun $C --container-writable'
    inside "--container-writable: the next step does not see it" "wrote gone" \
        "$writable sh -c 'echo wrote >/berth && cat /berth'
            $writable sh -c 'cat /berth 2>/dev/null || echo gone'"
    inside "--container-writable: two steps at one time do not see it" "1 2" \
        "salloc -Q -n2 bash -c '$writable -n1 --overlap sh -c \"echo 1 >/berth; touch one; \\\$HOME/t/within 60 test -e two; cat /berth\" & $writable -n1 --overlap sh -c \"echo 2 >/berth; touch two; \\\$HOME/t/within 60 test -e one; cat /berth\"; wait' | sort"
    inside "--container-writable: the image stays as it is" "gone" \
        "$writable touch /berth; srun \$C sh -c 'ls /berth 2>/dev/null || echo gone'"

    # ---- mounts

    inside "--container-mount-home" "here" 'touch here; srun $C --container-mount-home ls'
    inside "--no-container-mount-home: the home directory is not there" "gone" \
        'srun $C --no-container-mount-home --container-workdir=/ sh -c "ls /home/alice/t 2>/dev/null || echo gone"'
    inside "--no-container-mount-home: a mount in it is" "a b" \
        'mkdir m; touch m/a m/b
            srun $C --no-container-mount-home --container-workdir=/ --container-mounts=$PWD/m:/mnt ls /mnt'
    inside "--no-container-mount-home of the job, --container-mount-home of the step" "here" \
        'touch here
            salloc -Q $C --no-container-mount-home srun --container-mount-home ls /home/alice/w'
    inside "--container-mounts: a file" "text" \
        'echo text >f; srun $C --container-mounts=f:/etc/f.conf cat /etc/f.conf'
    inside "--container-mounts: rw, and by default" "new newer" \
        'mkdir m; srun $C --container-mounts=m:/m:rw sh -c "echo new >/m/f"; cat m/f
            srun $C --container-mounts=m:/m sh -c "echo newer >/m/f"; cat m/f'
    inside "--container-mounts: ro is read-only" "Read-only file system old" \
        'mkdir m; echo old >m/f
            srun $C --container-mounts=m:/m:ro perl -e '"'"'open F, ">", "/m/f" or print "$!\n"; unlink "/m/f"'"'"'; cat m/f'
    inside "--container-mounts: ro holds for a task of another component's rw" "ro rw" \
        'mkdir m; srun -N1 -n1 $C --container-mounts=m:/m:ro sh -c "touch /m/a 2>/dev/null || echo ro" : -N1 -n1 $C --container-mounts=m:/m:rw sh -c "touch /m/b && echo rw" | sort'
    inside "--container-mounts: sqsh is the files in a squashfs file, for both tasks of a node" \
        "1 1 Read-only file system Read-only file system" \
        'mkdir m; echo 1 >m/f; mksquashfs m d.sqsh -quiet -no-progress >/dev/null
         srun -w n1 -n2 $C --container-mounts=d.sqsh:/m:sqsh perl -e '"'"'open F, "/m/f"; print <F>; open F, ">", "/m/f" or print "$!\n"'"'"' | sort'
    inside "--container-mounts: sqsh, in two components and in the container of a job" "1 1 1 1" \
        'mkdir m; echo 1 >m/f; mksquashfs m d.sqsh -quiet -no-progress >/dev/null
         salloc -Q -N2 srun -N1 -n1 $C --container-mounts=d.sqsh:/m:sqsh cat /m/f : -N1 -n1 $C --container-mounts=d.sqsh:/n:sqsh cat /n/f
         salloc -Q -w n1 $C --container-lifetime=job --container-mounts=d.sqsh:/m:sqsh bash -c "srun cat /m/f; srun cat /m/f"'
    inside "--container-mounts: blanks, quotes, backslash, dollar and UTF-8" "text" \
        'd="a  b\\c\$d é it'"'"'s \"x\""; mkdir "$d"; echo text >"$d/f"; srun $C --container-mounts="$d:/m n 日" cat "/m n 日/f"'
    run_script inside "$A" \
        'd=$(printf "caf\351"); mkdir "$d"; echo text >"$d/f"
            srun $C --container-mounts="$d:/mnt" cat /mnt/f'
    matches "--container-mounts: bytes that are not UTF-8, which the runtime cannot mount, are refused" \
        "berth: n[1-4]: .*exit status 1" "$(tr -d '\200-\377' <"$work/inside" | paste -sd' ')"
    inside "--container-workdir with spaces and quotes" "/m's \"x\" y" \
        'mkdir m; srun $C --container-mounts="m:/m'"'"'s \"x\" y" --container-workdir="/m'"'"'s \"x\" y" pwd'
    inside "--container-image: a path with spaces and quotes" "a a" \
        'd="i  m '"'"' \"g\""; mkdir "$d"; cp /images/a.sif "$d/my image.sif"; srun --container-image="$d/my image.sif" cat /etc/berth-image; cd "$d"; srun --container-image="my image.sif" cat /etc/berth-image'
    inside "--container-image: a file that is called none" "a" \
        'cp /images/a.sif none; srun --container-image=./none cat /etc/berth-image'
fi

# ---- option_prefix=

conf=/etc/slurm/plugstack.conf.d/berth.conf
spoil login,n1 "cp $conf /root/berth.conf.saved; sed -i 's/\$/ option_prefix=b-/' $conf" \
    "mv /root/berth.conf.saved $conf"
"$tool" restart "$name" n1 >/dev/null 2>&1
inside "option_prefix=: the options have the prefix" "a x /tmp" \
    'srun -w n1 --b-container-image=/images/a.sif --b-container-env=V=x --b-container-workdir=/tmp sh -c "cat /etc/berth-image; echo \$V; pwd"'
inside "option_prefix=: the job's default" "a host b" \
    'salloc -Q -w n1 --b-container-image=/images/a.sif bash -c "srun cat /etc/berth-image; srun --b-container-image=none sh -c \"cat /etc/berth-image 2>/dev/null || echo host\"
        srun --b-container-image=/images/b.sif cat /etc/berth-image"'
run_script inside "$A" 'srun -w n1 $C true'
matches "option_prefix=: the option without prefix is not known" \
    "unrecognized option '--container-image" "$(cat "$work/inside")"
run_script inside "$A" 'srun -w n1 --b-container-image=file:///x true'
matches "option_prefix=: messages have the prefix" \
    "berth: --b-container-image: 'file:///x': cannot be pulled" "$(cat "$work/inside")"
put_back
"$tool" restart "$name" n1 >/dev/null 2>&1
equal "option_prefix=: it is taken back" a "$(alice srun -w n1 "$A" cat /etc/berth-image)"

finish
