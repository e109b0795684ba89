#!/bin/sh
# Builds the image of wafsync from deploy/Dockerfile, twice, and fails unless both builds give the same image.
#   build.sh CHECKOUT STORAGE BASES TARGET COMMIT
# Needs a mount namespace of its own. TARGET gets image.tar, a docker archive, and image.id.
set -eu
checkout=$1 storage=$2 bases=$3 target=$4 commit=$5
run=$target/run
mkdir -p "$storage" "$run"
# No registry, no configuration of this machine.
printf '{"default":[{"type":"insecureAcceptAnything"}]}' > "$target/policy.json"
printf '' > "$target/registries.conf"
printf '[storage]\ndriver = "overlay"\n' > "$target/storage.conf"
export CONTAINERS_REGISTRIES_CONF="$target/registries.conf" CONTAINERS_STORAGE_CONF="$target/storage.conf" TMPDIR="$target"

on_storage() {
  command=$1
  shift
  case $command in
    from | commit | build | push) set -- --signature-policy "$target/policy.json" "$@" ;;
  esac
  buildah --root "$storage" --runroot "$run" --storage-driver overlay "$command" "$@"
}

import_base() { # NAME OPTIONS
  name=$1
  shift
  on_storage inspect --type image "localhost/wafsync-$name-base:1" > /dev/null 2>&1 && return
  container=$(on_storage from scratch)
  on_storage add --quiet "$container" "$bases/$name" / > /dev/null
  on_storage config "$@" "$container"
  on_storage commit --quiet --timestamp 0 "$container" "localhost/wafsync-$name-base:1" > /dev/null
  on_storage rm "$container" > /dev/null
}

build_image() { # TAG
  on_storage build --isolation chroot --pull-never --no-cache --timestamp 0 --format oci \
    --build-arg BUILD_BASE=localhost/wafsync-build-base:1 --build-arg RUN_BASE=localhost/wafsync-run-base:1 \
    --build-arg COMMIT="$commit" --ignorefile "$checkout/deploy/Dockerfile.dockerignore" \
    --file "$checkout/deploy/Dockerfile" --iidfile "$target/$1.id" --tag "localhost/wafsync:$1" "$checkout"
}

import_base build --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt --env PATH=/usr/local/bin:/usr/bin:/bin
import_base run --user 65532 --workingdir /home/nonroot --env SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
build_image first
build_image second
cmp "$target/first.id" "$target/second.id" || { echo "two builds gave two images" >&2; exit 1; }
on_storage inspect --type image localhost/wafsync:first > "$target/image.json"
rm -f "$target/image.tar"
on_storage push --quiet localhost/wafsync:first "docker-archive:$target/image.tar:localhost/wafsync:${IMAGE_TAG:-0.1.0}"
on_storage rmi localhost/wafsync:first localhost/wafsync:second > /dev/null 2>&1 || true
on_storage rmi --prune > /dev/null 2>&1 || true
