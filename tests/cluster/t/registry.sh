# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A registry on the login host (Debian's docker-registry): for tests that have sourced
# lib.sh. It ends with the test, or by registry_stop.

# registry_start URL LOG [NAME...]: an empty one. With https the name in URL and these lead
# to it, and it has a certificate for them that the login host trusts.
registry_start() {
    registry=$1
    at_exit registry_stop
    on login root bash -s "$@" <<'REGISTRY'
set -euo pipefail
url=$1 log=$2 place=${1#*://} tls=
shift 2
if [[ -f /run/registry.pid ]]; then
    kill "$(</run/registry.pid)" 2>/dev/null && tail --pid="$(</run/registry.pid)" -f /dev/null
fi
rm -rf /srv/registry "$log"
if [[ $url == https:* ]]; then
    for name in "$place" "$@"; do
        getent hosts "$name" >/dev/null ||
            echo "$(getent hosts login | cut -d' ' -f1) $name" >>/etc/hosts
    done
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 \
        -keyout /etc/registry.key -out /etc/registry.crt \
        -subj "/CN=$place" -addext "subjectAltName=$(printf 'DNS:%s\n' "$place" "$@" | paste -sd,)" \
        2>/dev/null
    cat /etc/registry.crt >>/etc/ssl/certs/ca-certificates.crt
    tls=', tls: {certificate: /etc/registry.crt, key: /etc/registry.key}'
    place=login:443
fi
cat >/etc/registry.yml <<YAML
version: 0.1
log: {accesslog: {disabled: false}}
storage: {filesystem: {rootdirectory: /srv/registry}}
http: {addr: "$place"$tls}
YAML
setsid docker-registry serve /etc/registry.yml >"$log" 2>&1 </dev/null &
echo $! >/run/registry.pid
for ((i = 0; i < 600; i++)); do
    ! curl -s "$url/v2/" >/dev/null || exit 0
    sleep 0.1
done
exit 1
REGISTRY
}

# registry_stop: one that is paused does not answer, and would not end either.
registry_stop() {
    # shellcheck disable=SC2016 # for the host
    on login root bash -c 'kill -CONT $(</run/registry.pid); kill $(</run/registry.pid)' 2>/dev/null
}

# push NAME:TAG LETTER [ENTRYPOINT [WORKDIR]]: an image of Docker's kind with a shell, cat, head and
# the file of the image LETTER, by the registry's own API; its entry point is a JSON list. Prints
# its digest.
push() {
    on login root bash -s "${1%:*}" "${1#*:}" "$2" "$registry" "${3-}" "${4-}" <<'PUSH'
set -euo pipefail
base=$4/v2/$1 place='' work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
digest() { sha256sum "$1" | cut -d' ' -f1; }
put() {
    place=$(curl -sfS -X POST -D - -o /dev/null "$base/blobs/uploads/" | tr -d '\r' |
        sed -n 's/^Location: //Ip')
    curl -sfS -X PUT -H 'Content-Type: application/octet-stream' --data-binary "@$1" \
        "$place&digest=sha256:$(digest "$1")"
}
part() { printf '"digest":"sha256:%s","size":%d' "$(digest "$1")" "$(stat -c %s "$1")"; }
type=application/vnd.oci.image
lib=usr/lib/x86_64-linux-gnu
mkdir -p "root/etc" "root${6-}"
echo "$3" >root/etc/berth-image
echo "PRETTY_NAME=\"$3\"" >root/etc/os-release
tar -cf layer -C /images/a.dir bin lib lib64 usr/bin/{sh,dash,cat,env,head} usr/lib64 \
    $lib/libc.so.6 $lib/ld-linux-x86-64.so.2 -C "$work/root" etc/berth-image \
        etc/os-release ${6:+".$6"}
printf '{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/usr/bin:/bin"]%s%s},
    "rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "${5:+,\"Entrypoint\":$5}" \
    "${6:+,\"WorkingDir\":\"$6\"}" "$(digest layer)" >config
gzip -n layer
printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json",
    "config":{"mediaType":"%s.config.v1+json",%s},
    "layers":[{"mediaType":"%s.layer.v1.tar+gzip",%s}]}' \
    $type $type "$(part config)" $type "$(part layer.gz)" >manifest
put layer.gz
put config
curl -sfS -X PUT -H "Content-Type: $type.manifest.v1+json" --data-binary @manifest \
    "$base/manifests/$2"
echo "sha256:$(digest manifest)"
PUSH
}
