/** What `containerd` reads. Everything of it lies in one directory, or in namespaces that go with it. */
export function containerdConfig(options: {
  directory: string;
  cni: string;
  pause: string;
  streamPort: number;
  /** What is run in place of runc. */
  runc?: string;
}): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const text = JSON.stringify;
  const { directory } = options;
  return `version = 2
root = ${text(`${directory}/root`)}
state = ${text(`${directory}/state`)}
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.internal.v1.tracing",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp",
]
[grpc]
address = ${text(`${directory}/containerd.sock`)}
[${cri}]
sandbox_image = ${text(options.pause)}
# Lowering the score is not permitted everywhere.
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
stream_server_address = "127.0.0.1"
stream_server_port = "${options.streamPort}"
[${cri}.containerd]
snapshotter = "overlayfs"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
${options.runc === undefined ? "" : `[${cri}.containerd.runtimes.runc.options]\nBinaryName = ${text(options.runc)}\n`}[${cri}.cni]
bin_dir = ${text(options.cni)}
conf_dir = ${text(`${directory}/cni`)}
`;
}

export const cniConfig = JSON.stringify({
  cniVersion: "0.4.0",
  name: "test",
  plugins: [
    {
      type: "ptp",
      ipMasq: false,
      ipam: { type: "host-local", ranges: [[{ subnet: "10.213.0.0/24" }]], routes: [{ dst: "0.0.0.0/0" }] },
    },
  ],
});

/**
 * Cleans up once its standard input ends, which it also does when the test is killed: ends everything in the control
 * groups (its arguments after the directory), removes them, and the directory.
 */
export const guardianScript = `
directory=$1; shift
cat > /dev/null
members() { for group in "$@"; do find "$group" -name cgroup.procs -exec cat {} + 2> /dev/null; done | sort -u; }
remove() {
  for pid in $(members "$@"); do kill -KILL "$pid" 2> /dev/null; done
  left=0
  for group in "$@"; do
    find "$group" -depth -type d -exec rmdir {} + 2> /dev/null
    [ -d "$group" ] && left=1
  done
  return $left
}
tries=200
until remove "$@" || [ $tries -eq 0 ]; do tries=$((tries - 1)); sleep 0.05; done
# The mounts went with their namespace, at latest when its last process was reaped.
tries=40
until rm -rf --one-file-system "$directory" 2> /dev/null || [ $tries -eq 0 ]; do tries=$((tries - 1)); sleep 0.05; done
`;

/** Does what runc does, and then does not end for as long as a file `hold-create` or `hold-start` is beside it. */
export const holdingRunc = (runc: string) => `#!/bin/sh
"${runc}" "$@"
code=$?
for step in create start; do
  case " $* " in *" $step "*) while [ -e "\${0%/*}/hold-$step" ]; do sleep 0.02; done ;; esac
done
exit $code
`;

/** Joins the control groups given by their process files, then becomes the command after \`--\`. */
export const joinScript = `
while [ "$1" != -- ]; do echo $$ > "$1"; shift; done
shift
exec "$@"
`;

/** Sets namespaces up and holds them; prints a line when it has. */
export const namespaceScript = `
set -eu
mkdir -p "$1/lib" "$1/run"
mount --bind "$1/lib" /var/lib
mount -t tmpfs -o mode=755 run /run
ip link set dev lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
echo ready
exec sleep infinity
`;
