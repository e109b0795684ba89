#!/bin/sh
# Lets the children of a cgroup (v2) use the controllers that the cgroup has.
#   share-controllers.sh CGROUP
for controller in $(cat "$1/cgroup.controllers"); do
  echo "+$controller" > "$1/cgroup.subtree_control" || echo "wafsync: $1 can't share the controller $controller" >&2
done
