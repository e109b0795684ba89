#!/bin/sh
# Runs a command where the unpacked Debian packages seem to be installed: laid over /usr and /etc in a mount namespace of its
# own, so that the machine keeps its own.
#   with-packages.sh UNPACKED SCRATCH COMMAND…      SCRATCH is a new folder for what the command writes into /etc and /var
set -eu
if [ "${WAFSYNC_WORLD_MOUNTS:-}" != own ]; then
  WAFSYNC_WORLD_MOUNTS=own exec unshare --mount --propagation private sh "$0" "$@"
fi
unpacked=$1 scratch=$2
shift 2
for folder in etc var; do
  mkdir -p "$scratch/$folder/upper" "$scratch/$folder/work" "$unpacked/$folder"
  mount -t overlay overlay -o "lowerdir=$unpacked/$folder:/$folder,upperdir=$scratch/$folder/upper,workdir=$scratch/$folder/work" "/$folder"
done
mount -t overlay overlay -o "lowerdir=$unpacked/usr:/usr" /usr
exec "$@"
