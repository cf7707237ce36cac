#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Images from a registry (Debian's docker-registry, on the login host, plain http): pulled
# once for all, which its own log tells, or refused in one line.
# shellcheck source-path=SCRIPTDIR disable=SC2016
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/registry.sh"

LOG=/var/log/registry.log
DOCKER=docker://login:5000/app
need_images a b noshell

# user COMMAND...: alice, with a registry that has no https.
user() { alice env "${RUNTIME}_NOHTTPS=1" "$@"; }

# asked PATTERN: how often the registry has been asked for it.
asked() { on login root grep -cE "\"GET /v2/$1" $LOG; }

# without_time: standard input without the line at the end of a pull of two seconds or more.
without_time() { sed '/: berth: pulled /d'; }

# pulled NAME: how often an image of that name was. Of one, two blobs are read.
pulled() {
    local blobs
    blobs=$(asked "$1/blobs/")
    if ((blobs % 2)); then echo "$blobs blobs"; else echo $((blobs / 2)); fi
}

# The registry does not answer, and answers again.
pause=(on login root bash -c 'kill -STOP $(</run/registry.pid)')
go_on=(on login root bash -c 'kill -CONT $(</run/registry.pid)')

# last_job: its number. Slurm forgets old jobs at any time.
last_job() { on login root scontrol -o show jobs | sed -n 's/^JobId=\([0-9]*\).*/\1/p' | sort -n |
    tail -n 1; }

# no_pull TITLE PATTERN COMMAND...: one error, status 1, and no job.
no_pull() {
    local last
    last=$(last_job)
    try "$1" "~error: berth: image '[^']*': .*$2.*status" -- "${@:3}"
    equal "$1: in one line, without a job" "1 1 $last" \
        "${seen##*status } $(grep -c 'error:' <<<"$seen") $(last_job)"
}

registry_start http://login:5000 $LOG || { result FAIL "the registry starts" \
    "$(on login root cat $LOG)"; exit 1; }
alice rm -rf .cache/berth
digest=$(push app/one:1 a) || { result FAIL "an image is pushed"; exit 1; }
for it in two:1/a three:1/a four:1/a five:1/b six:1/b; do push "app/${it%/*}" "${it#*/}" \
    >/dev/null; done
user "$runtime" -q push /images/noshell.sif oras://login:5000/hello:1

# Once for four nodes, and from then on not at all.
said=$(user srun -N4 --container-image=$DOCKER/one:1 cat /etc/berth-image 2>&1)
equal "docker://: four nodes run it" "srun: berth: pulling image '$DOCKER/one:1'"$'\na\na\na\na' \
    "$(without_time <<<"$said")"
equal "docker://: it was pulled once" 1 "$(pulled app/one)"
before=$(asked '')
equal "docker://: it is in the cache" $'a\na\na\na' \
    "$(user srun -N4 --container-image=$DOCKER/one:1 cat /etc/berth-image 2>&1)"
equal "docker://: with --export=NONE" a \
    "$(user srun -n1 --export=NONE --container-image=$DOCKER/one:1 cat /etc/berth-image 2>&1)"
equal "docker://: a registry with a # behind it, as pyxis has it" a \
    "$(user srun -n1 --container-image=docker://login:5000#app/one:1 cat /etc/berth-image 2>&1)"
equal "docker://: the registry is not asked again" "$before" "$(asked '')"
cache=.cache/berth
app=docker+login=5000+app
place=$cache/work/$app
machine=$(on login root uname -m)
try "docker://: the cache holds the image by its digest" \
    "$app+one@${digest/:/-}-$machine.sif${nl}index${nl}work" -- ls $cache
try "docker://: and nothing else" lock -- ls $place+one=1
said=$(user srun -N4 --container-image=oras://login:5000/hello:1 /bin/hello 2>&1)
equal "oras://: four nodes run it" \
    "srun: berth: pulling image 'oras://login:5000/hello:1'"$'\nhello\nhello\nhello\nhello' \
    "$(without_time <<<"$said")"
equal "oras://: it was pulled once" 1 "$(pulled hello)"
said=$(user srun -n1 --container-image="$DOCKER/one@$digest" cat /etc/berth-image 2>&1)
equal "a digest is pulled" "srun: berth: pulling image '$DOCKER/one@$digest'"$'\na' \
    "$(without_time <<<"$said")"

# The runscript of such an image evaluates its arguments, unless it is told not to.
push app/entry:1 a '["/bin/sh","-c","export ENTRY=yes; \"$@\"","entry"]' >/dev/null
entry=("--container-image=$DOCKER/entry:1" --container-entrypoint)
odd="cost: 5\$ and \"quoted\" \`echo evaluated\` \$HOME \\it's"
user srun -Q -n1 "${entry[@]}" true 2>/dev/null
equal "--container-entrypoint: the words of the command stay as they are" "$odd" \
    "$(user srun -n1 "${entry[@]}" echo "$odd" 2>&1)"
equal "... for a shell, after the entry point" "0 of yes"$'\n'"1 of yes" \
    "$(user srun -n1 "${entry[@]}" sh -c 'for i in 0 1; do echo "$i of $ENTRY"; done' 2>&1)"
equal "... with a container for each task" "$odd" \
    "$(user srun -n1 "${entry[@]}" --container-args=--pid echo "$odd" 2>&1)"
equal "... by berth run" "$odd" "$(user srun -n1 berth run "${entry[@]}" echo "$odd" 2>&1)"
printf '0 %s echo 5$ \\`x\\`\n' "${entry[*]}" | on login alice sh -c 'cat >entry.conf'
equal "... by a line of --multi-prog" '5$ `x`' "$(user srun -n1 --multi-prog entry.conf 2>&1)"
equal "... but if it is asked to" "cost: 5" \
    "$(user srun -n1 "${entry[@]}" --container-env=APPTAINER_NO_EVAL=,SINGULARITY_NO_EVAL= echo \
    'cost: 5$(true)' 2>&1)"
alice rm -f entry.conf

# A server of the library API that has one image, and the user's remote for it.
on login root bash -c \
    'cat >/srv/library.pl
        setsid perl /srv/library.pl "$(sha256sum </images/noshell.sif | cut -d" " -f1)" \
    >/dev/null 2>/srv/library.log </dev/null & echo $! >/run/library.pid' <<'LIBRARY'
use IO::Socket::INET;
my $file = '/images/noshell.sif';
my $size = -s $file;
my $server = IO::Socket::INET->new(LocalPort => 80, Listen => 20, ReuseAddr => 1) or die $!;
$SIG{CHLD} = 'IGNORE';
while (my $client = $server->accept) {
    next if fork;
    my ($answer, $request) = (undef, scalar <$client>);
    while (<$client>) { last if /^\r?\n$/ }
    print STDERR $request;
    if ($request =~ m{ /assets/config/}) {
        $answer = '{"libraryAPI":{"uri":"http://login"},"keystoreAPI":{"uri":"http://login"}}';
    } elsif ($request =~ m{ /version}) {
        $answer = '{"data":{"version":"v1.0.0","apiVersion":"v1.0.0"}}';
    } elsif ($request =~ m{ /v1/images/entity/coll/hello:1\?}) {
        $answer = qq({"data":{"id":"1","hash":"sha256.$ARGV[0]","size":$size,"uploaded":true,"tags":["1"]}});
    } elsif ($request =~ m{ /v1/imagefile/}) {
        open my $in, '<', $file or die $!;
        $answer = do { local $/; <$in> };
    }
    my $status = defined $answer ? '200 OK' : '404 Not Found';
    $answer //= '';
    print $client "HTTP/1.1 $status\r\nContent-Length: ", length $answer, "\r\nConnection: close\r\n\r\n$answer";
    exit;
}
LIBRARY
remote=.$runtime_name/remote.yaml
alice bash -c "mkdir -p .$runtime_name; cat >$remote; chmod 600 $remote" <<'REMOTE'
Active: here
Remotes:
  here:
    URI: login
    Insecure: true
REMOTE
wait_for 60 on login root curl -s http://login/version >/dev/null
said=$(user srun -N2 --container-image=library://entity/coll/hello:1 /bin/hello 2>&1)
equal "library://: two nodes run it" \
    "srun: berth: pulling image 'library://entity/coll/hello:1'"$'\nhello\nhello' \
    "$(without_time <<<"$said")"
equal "library://: it was pulled once" "hello 1" \
    "$(user srun -n1 --container-image=library://entity/coll/hello:1 /bin/hello 2>&1) $(on login \
    root grep -c 'GET /v1/imagefile/' /srv/library.log)"
no_pull "a library:// that is not there" \
    "did not pull it: .*not exist in the library.*; try it by hand: " \
    user srun -N2 --container-image=library://entity/coll/hello:2 true
on login root bash -c 'kill $(</run/library.pid); rm -f /srv/library.pl /srv/library.log'
alice rm -rf "$remote"

# Several who want it.
"${pause[@]}"
for i in 1 2; do
    user srun -n1 --container-image=$DOCKER/three:1 cat /etc/berth-image >"$work/$i" 2>&1 &
done
wait_for 60 grep -q 'another pull of it is under way' "$work/1" "$work/2"
for signal in INT TERM HUP; do
    user timeout --foreground -k 20 -s $signal 1 srun -n1 --container-image=$DOCKER/three:1 true \
        >"$work/waits" 2>&1
    equal "SIG$signal ends srun while it waits for another's pull" "124 1" \
        "$? $(grep -c 'another pull of it is under way' "$work/waits")"
done
"${go_on[@]}"
wait
equal "two commands at once: one pulls and one waits" \
    "a
a
srun: berth: image '$DOCKER/three:1': another pull of it is under way; waiting for it
srun: berth: pulling image '$DOCKER/three:1'
1" "$(sort "$work/1" "$work/2" | without_time; pulled app/three)"

# A pull that is killed.
"${pause[@]}"
script killed.sh <<SCRIPT
#!/bin/sh
export ${RUNTIME}_NOHTTPS=1
srun -n1 --container-image=$DOCKER/four:1 true &
echo \$! >srun.pid
wait
SCRIPT
alice ./killed.sh >/dev/null 2>&1 &
wait_for 60 on login root pgrep -u alice -f "$runtime_name (pull|build) .*four" >/dev/null
on login root bash -c 'kill -KILL $(</home/alice/srun.pid)'
wait
wait_for 60 on login root bash -c "! pgrep -u alice -f '$runtime_name (pull|build)'" >/dev/null
soon "a pull that is killed ends, and leaves the layers alone" $'0\nlayers\nlock' -- \
    on login root bash -c "pgrep -u alice -c $runtime_name; ls ~alice/$place+four=1"
# srun blocks these signals when it starts.
for signal in INT TERM; do
    user timeout --foreground -k 100 -s $signal 1 srun -n1 --container-image=$DOCKER/four:1 true \
        >/dev/null 2>&1
    equal "SIG$signal ends srun while it pulls" 124 $?
done
"${go_on[@]}"
equal "the next one pulls it" a \
    "$(user srun -n1 --container-image=$DOCKER/four:1 cat /etc/berth-image 2>/dev/null)"
try "and leaves nothing else" lock -- ls $place+four=1

# A tag that moves.
moved=$(push app/one:1 b)
try "a tag stays what it was" a -- user srun -n1 --container-image=$DOCKER/one:1 cat \
    /etc/berth-image
equal "berth pull --again" "/home/alice/$cache/$app+one@${moved/:/-}-$machine.sif" \
    "$(user berth pull --again $DOCKER/one:1 2>/dev/null)"
try "is what steps have then" b -- user srun -n1 --container-image=$DOCKER/one:1 cat \
    /etc/berth-image
equal "what jobs may use is left" 2 "$(alice ls $cache | grep -c "$app+one@")"
try "berth run takes it, too" b -- user berth run --container-image=$DOCKER/one:1 cat \
    /etc/berth-image

# Jobs.
script job.sh <<'SCRIPT'
#!/bin/sh
srun -n2 cat /etc/berth-image
SCRIPT
said=$(user sbatch -W -N1 -n2 -o sbatch.out --container-image=$DOCKER/five:1 ./job.sh 2>&1)
matches "sbatch pulls at submission" "^sbatch: berth: pulling image '$DOCKER/five:1'" "$said"
equal "and the job has it" $'b\nb\n1' "$(alice cat sbatch.out; pulled app/five)"
hide_runtime login
said=$(user sbatch -W -N1 -n2 -o sbatch.out --container-image=$DOCKER/six:1 ./job.sh 2>&1)
put_back
matches "sbatch without a runtime leaves it to srun" \
    "^sbatch: berth: note: image '$DOCKER/six:1': no container runtime on this host" "$said"
equal "which pulls it on the node" \
    "srun: berth: pulling image '$DOCKER/six:1'"$'\nb\nb\n1' \
    "$(alice cat sbatch.out | without_time; pulled app/six)"

# What the site says.
site <<'YAML'
images:
  cache: /shared/$USER/images
  uris: ['docker://login:5000/app']
YAML
matches "images.cache: berth pull uses it" \
    "^/shared/alice/images/docker.login=5000.app.two@sha256-" \
    "$(user berth pull $DOCKER/two:1 2>/dev/null)"
equal "images.cache: so does srun, on four nodes" $'a\na\na\na' \
    "$(user srun -N4 --container-image=$DOCKER/two:1 cat /etc/berth-image 2>&1)"
no_pull "images.uris" "this site does not allow it; it allows docker://login:5000/app" \
    user srun -N2 --container-image=oras://login:5000/hello:1 true
site </dev/null
alice rm -rf /shared/alice

# What cannot be.
no_pull "a name that is not there" "did not pull it: .*manifest unknown.*; try it by hand: " \
    user srun -N2 --container-image=$DOCKER/none:1 true
no_pull "a registry without https" "HTTP response to HTTPS client; try it by hand: " \
    alice srun -N2 --container-image=$DOCKER/none:1 true
no_pull "no SIF file" "invalid layer mediatype.*; try it by hand: " \
    user srun -N2 --container-image=oras://login:5000/app/two:1 true
on login root bash -c \
    'mkdir -p /srv/small && mount -t tmpfs -o size=600k,mode=1777 small /srv/small'
no_pull "a disk that is full" "no space left on device; try it by hand: " \
    user env XDG_CACHE_HOME=/srv/small srun -N2 --container-image=$DOCKER/two:1 true
equal "a disk that is full: nothing is left" "lock" \
    "$(on login root ls /srv/small/berth/work/$app+two=1)"
on login root bash -c 'umount /srv/small && rmdir /srv/small'
said=$(user env XDG_CACHE_HOME=/tmp/alice srun -N2 --container-image=$DOCKER/two:1 true 2>&1)
equal "a cache that the nodes do not see: each says so" 2 \
    "$(grep -cE "^berth: n[0-9]: image '$DOCKER/two:1': its file '/tmp/alice/berth/.*' is not here; the cache must" <<<"$said")"
on login root rm -rf /tmp/alice
equal "nothing is left in /tmp" "" "$(on login root find /tmp -user alice ! -path '/tmp/berth-*')"

finish
