#!/bin/sh
# Runs a command in a box: network, mounts, processes, host name and cgroups of its own, with the unpacked Debian packages
# laid over /usr, /etc and /var. When the command ends, or this script, everything in the box ends and its cgroups are removed.
#   box.sh NAME UNPACKED SCRATCH COMMAND…
set -eu
here=$(cd "$(dirname "$0")" && pwd)
name=$1
cgroups=/sys/fs/cgroup
# cgroup v1 has a tree for each controller, v2 has one, in which only leaves hold processes: the box runs in the leaf `box`, next
# to the cgroups that kubelet makes.
if [ -f $cgroups/cgroup.controllers ]; then trees=$cgroups leaf=box; else trees=$(ls -d $cgroups/*/) leaf=; fi

make_cgroups() {
  [ -z "$leaf" ] || sh "$here/share-controllers.sh" $cgroups
  for tree in $trees; do
    mkdir -p "$tree/$name/$leaf"
    for file in cpuset.cpus cpuset.mems; do
      [ -f "$tree/$name/$file" ] && [ -f "$tree/$file" ] && cat "$tree/$file" > "$tree/$name/$file"
    done
  done
  return 0
}

remove_cgroups() {
  for tree in $trees; do
    [ -d "$tree/$name" ] || continue
    # What ended a moment ago may still be counted.
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
      find "$tree/$name" -depth -type d -exec rmdir {} + 2> /dev/null && break
      for processes in $(find "$tree/$name" -name cgroup.procs); do
        for process in $(cat "$processes"); do kill -KILL "$process" 2> /dev/null || true; done
      done
      sleep 0.5
    done
    [ ! -d "$tree/$name" ] || echo "wafsync: the cgroup $tree/$name could not be removed" >&2
  done
}

end_box() {
  # The first process of the box takes all others with it, and no signal but this one ends it for certain.
  [ -z "${box:-}" ] || kill -KILL "$box" 2> /dev/null || true
  remove_cgroups
}

trap end_box EXIT
trap 'exit 130' INT TERM HUP
remove_cgroups
make_cgroups
# Only the box moves into the cgroups: this script has to remove them.
trees=$trees leaf=$leaf sh "$here/enter-box.sh" "$@" &
box=$!
code=0
wait $box || code=$?
box=
exit $code
