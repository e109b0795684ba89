#!/bin/sh
# The first process of the box: sets up its network, its names and its mounts, and becomes the command.
#   inside-box.sh NAME UNPACKED SCRATCH COMMAND…
set -eu
here=$(cd "$(dirname "$0")" && pwd)
name=$1 unpacked=$2 scratch=$3
shift 3
hostname "$name"

# The cgroups of the box take the place of the machine's.
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
else
  # A file system for each controller that the machine has, named as there.
  controllers=$(awk '$3 == "cgroup" { print $2, $4 }' FS=' ' /proc/mounts | sed 's#^/sys/fs/cgroup/##' | awk '{ print $1 }')
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  for controller in $controllers; do
    mkdir -p "/sys/fs/cgroup/$controller"
    option=$controller
    [ "$controller" != systemd ] || option=none,name=systemd
    mount -t cgroup -o "$option" cgroup "/sys/fs/cgroup/$controller"
  done
fi

# kubelet and the pods reach the API server at the address of its Service: it is an address of this bridge. So no kube-proxy
# and no packet filter are needed.
ip link set lo up
# Without an address of its own, a bridge takes the lowest one of its ports. When that pod ended, no other pod reached the API
# server any longer, until it asked for the address again after half a minute.
ip link add world0 address 02:00:00:00:00:01 type bridge
ip address add 10.244.0.1/24 dev world0
ip address add 10.96.0.1/32 dev world0
ip link set world0 up

# kubelet sets these for the whole kernel: here it writes into files.
mkdir -p "$scratch/sysctl"
fake_setting() { # PATH VALUE
  [ -f "/proc/sys/$1" ] || return 0
  file=$scratch/sysctl/$(echo "$1" | tr / .)
  echo "$2" > "$file"
  mount --bind "$file" "/proc/sys/$1"
}
fake_setting vm/overcommit_memory 1
fake_setting vm/panic_on_oom 0
fake_setting kernel/panic 10
fake_setting kernel/panic_on_oops 1
fake_setting kernel/keys/root_maxkeys 1000000
fake_setting kernel/keys/root_maxbytes 25000000

export WAFSYNC_WORLD_MOUNTS=own
mount -t tmpfs -o mode=755 tmpfs /run
exec sh "$here/with-packages.sh" "$unpacked" "$scratch" sh -c '
  # Without these, each look-up of a name waits for servers that do not exist.
  rm -f /etc/hosts /etc/resolv.conf
  printf "127.0.0.1 localhost $(hostname)\n" > /etc/hosts
  : > /etc/resolv.conf
  exec "$@"
' sh "$@"
