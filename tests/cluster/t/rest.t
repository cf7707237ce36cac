#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Jobs that slurmrestd submits: `container` of a request is an image, and variables of its
# environment are options of berth. With doc/admin.md's own request; first without the plugin,
# then with it.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/console.sh"

need_images a b
LIMIT=60
container_option_without_plugin

packages=(slurmrestd slurm-wlm-jwt-plugin)
interface=v0.0.42
case $release in
trixie) packages+=(libhttp-parser2.9) ;;
sid)
    interface=v0.0.45
    # curl, which the tree of trixie has, and what it depends on
    packages+=(curl libcurl4t64 libnghttp3-9 libngtcp2-16 libngtcp2-crypto-ossl0 libnghttp2-14
        libidn2-0 libldap2 libssh2-1t64 libpsl5t64 libbrotli1 libunistring5 libsasl2-2)
    ;;
esac
put_debian login "${packages[@]}"

# slurmctld takes tokens (JWT), and bob's slurmrestd passes them on.
slurmctld_again() {
    on login root bash -c 'pid=$(</run/slurm/slurmctld.pid); kill "$pid"
        while [ -e "/proc/$pid" ]; do sleep 0.1; done; slurmctld' 2>"$work/slurmctld"
    wait_for 30 all_idle || result FAIL "slurmctld starts again" "$(cat "$work/slurmctld")"
}
on login root bash -c 'cd /etc/slurm && cp slurm.conf slurm.conf.was &&
    head -c 32 /dev/urandom >jwt.key && chown slurm: jwt.key && chmod 600 jwt.key &&
    printf "%s\n" AuthAltTypes=auth/jwt AuthAltParameters=jwt_key=/etc/slurm/jwt.key >>slurm.conf'
at_exit 'on login root bash -c "cd /etc/slurm && mv slurm.conf.was slurm.conf && rm jwt.key"
    slurmctld_again'
slurmctld_again
at_exit 'on login root pkill -u alice,bob -x slurmrestd'
on login bob env SLURM_JWT=daemon slurmrestd -a rest_auth/jwt -s slurmctld login:6820 \
    >"$work/jwt.log" 2>&1 &

on login alice rm -f rest.sock rest.out
on login alice ln -sfn /images/a.sif app.sif
sed -n "/^### Jobs by slurmrestd\$/,/^## /{s/v0.0.42/$interface/;p}" "$here/../../../doc/admin.md" \
    >"$work/admin.md"
console_document "$work/admin.md" doc/admin.md
wait_for 30 has_no_job
matches "a job with a token runs as its user, in the image" $'^hello\nPRETTY_NAME="Debian' \
    "$(on login alice cat rest.out)"
equal "... and one without is refused" "Authentication failure" \
    "$(alice curl -sS -H 'Content-Type: application/json' -d @rest.json "login:6820/slurm/$interface/job/submit")"

# rest_submitted VARIABLES CONTAINER: the output of a job whose script is standard input; its
# environment has VARIABLES, of JSON, and the image CONTAINER, if any.
rest_submitted() {
    local script container=''
    script=$(python3 -c 'import json, sys; print(json.dumps(sys.stdin.read()))')
    [[ ! ${2-} ]] || container="\"container\": \"$2\","
    on login alice bash -c 'rm -f rest.out; cat >rest.json' <<END
{"script": $script,
 "job": {"name": "rest", $container "current_working_directory": "/home/alice", "required_nodes": ["n1"],
         "standard_output": "/home/alice/rest.out", "environment": ["PATH=/usr/bin:/bin"$1]}}
END
    alice curl -sS --unix-socket rest.sock -H 'Content-Type: application/json' -d @rest.json \
        "localhost/slurm/$interface/job/submit" >"$work/answer" 2>&1
    job=$(sed -n 's/.*"job_id": \([0-9]*\).*/\1/p' "$work/answer")
    [[ $job ]] || cat "$work/answer"
    wait_for 30 has_no_job
    on login alice cat rest.out
}
A=/images/a.sif

equal "the script and its steps run in the image" "a a" "$(rest_submitted ', "HOME=/home/alice"' $A <<'END'
#!/bin/sh
echo $(cat /etc/berth-image) $(srun -Q cat /etc/berth-image)
END
)"
matches "scontrol show job has the image" "Container=$A" \
    "$(alice sh -c 'scontrol show job | grep Container= | tail -n 1')"
equal "a variable of berth" "a b" "$(rest_submitted ', "BERTH_CONTAINER_ENV=X=a b"' $A <<<$'#!/bin/sh\necho $X')"
equal "an image that is not there" \
    "berth: n1: image '/images/gone.sif': not found; check the path, and that the nodes see this file system" \
    "$(rest_submitted '' /images/gone.sif <<<'#!/bin/sh')"
site <<<'images: {roots: [/elsewhere]}'
matches "a site that allows other images" "$A': this site does not allow it; it allows /elsewhere" \
    "$(rest_submitted '' $A <<<'#!/bin/sh')"
site </dev/null

container_option_with_plugin
equal "with the plugin: the script, its steps, and one in another image" "a a b" "$(rest_submitted '' $A <<'END'
#!/bin/sh
echo $(cat /etc/berth-image) $(srun -Q cat /etc/berth-image) \
    $(srun -Q --container-image=/images/b.sif cat /etc/berth-image)
END
)"
equal "... BERTH_CONTAINER_IMAGE, and no container: the script on the host, its steps in the image" "host b" \
    "$(rest_submitted ', "BERTH_CONTAINER_IMAGE=/images/b.sif"' <<'END'
#!/bin/sh
echo $(cat /etc/berth-image 2>/dev/null || echo host) $(srun -Q cat /etc/berth-image)
END
)"

finish
