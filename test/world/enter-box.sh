#!/bin/sh
# Moves into the cgroups of the box, makes its namespaces, and becomes inside-box.sh.
#   trees=… leaf=… enter-box.sh NAME UNPACKED SCRATCH COMMAND…
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "${cgroup_namespace:-}" != own ]; then
  for tree in $trees; do echo $$ > "$tree/$1/cgroup.procs"; done
  # The new namespace begins at the cgroup that this process is in.
  cgroup_namespace=own exec unshare --cgroup sh "$0" "$@"
fi
if [ -n "$leaf" ]; then
  # With v2, a cgroup that has processes can't share its controllers.
  echo $$ > "$trees/$1/$leaf/cgroup.procs"
  sh "$here/share-controllers.sh" "$trees/$1"
fi
exec unshare --net --mount --propagation private --pid --ipc --uts --fork --kill-child --mount-proc \
  sh "$here/inside-box.sh" "$@"
