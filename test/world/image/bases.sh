#!/bin/sh
# Makes root file systems that stand in for the two bases of deploy/Dockerfile, which only a registry has: Debian 12 with
# Node.js and npm to build in, and Debian 13 with Node.js, its libraries and nothing else to run in.
#   bases.sh TARGET NODE NPM     the program node, and the folder of npm
set -eu
target=$1 node=$2 npm=$3
mirror=${WAFSYNC_DEBIAN_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
authorities=/etc/ssl/certs/ca-certificates.crt

make_base() { # NAME VARIANT SUITE PACKAGES
  mmdebstrap --quiet --mode=root --skip=check/empty --variant="$2" --include="$4" \
    --keyring="$keyring" "$3" "$target/$1" "$mirror"
}

rm -rf "$target/build" "$target/run"
mkdir -p "$target"
make_base build essential bookworm ca-certificates,libstdc++6
install -D "$node" "$target/build/usr/local/bin/node"
mkdir -p "$target/build/usr/local/lib/node_modules"
cp -rL "$npm" "$target/build/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$target/build/usr/local/bin/npm"
# What this machine trusts, with the authority of its proxy if it has one.
cp "$authorities" "$target/build/etc/ssl/certs/ca-certificates.crt"

make_base run extract trixie libc6,libstdc++6,libgcc-s1,ca-certificates,tzdata,netbase,base-files
mkdir -p "$target/run/etc/ssl/certs" "$target/run/home/nonroot"
find "$target/run/usr/share/ca-certificates" -name '*.crt' | sort | xargs cat > "$target/run/etc/ssl/certs/ca-certificates.crt"
install -D "$node" "$target/run/nodejs/bin/node"
strip "$target/run/nodejs/bin/node" 2>/dev/null || true
printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' > "$target/run/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' > "$target/run/etc/group"
chown 65532:65532 "$target/run/home/nonroot"
for base in build run; do
  rm -rf "$target/$base/var/cache/apt" "$target/$base/var/lib/apt/lists" "$target/$base/dev"
  mkdir -p "$target/$base/dev" "$target/$base/proc" "$target/$base/sys" "$target/$base/tmp"
done
chmod 1777 "$target/build/tmp" "$target/run/tmp"
