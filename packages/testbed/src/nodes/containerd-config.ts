import { imageNames } from "./images.ts";
import { isIpv6 } from "./network-plan.ts";

export interface ContainerdOptions {
  /** Folder of the CNI plugins. */
  cniPlugins: string;
  /** Folder of the CNI configuration. */
  cniConfiguration: string;
  snapshotter: "overlayfs" | "native";
}

/** The configuration of a node's containerd. Its folders have their usual names: the node has its own of each. */
export function containerdConfig(options: ContainerdOptions): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
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
address = ${quoted(containerdSocket)}

[${cri}]
sandbox_image = ${quoted(imageNames.pause)}
# Without it every sandbox fails where lowering the score is refused: "can't get final child's PID from pipe: EOF".
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
stream_server_address = "127.0.0.1"
stream_server_port = "${streamPort}"

[${cri}.containerd]
snapshotter = ${quoted(options.snapshotter)}

[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[${cri}.cni]
bin_dir = ${quoted(options.cniPlugins)}
conf_dir = ${quoted(options.cniConfiguration)}
`;
}

/** containerd listens here, on loopback, from the moment on at which it takes the kubelet's calls. */
export const streamPort = 10010;

export const containerdSocket = "/run/containerd/containerd.sock";

/**
 * How pods get their addresses. Point to point, not a bridge: packets between two pods of one node then pass the node's
 * routing and with it kube-proxy's rules, whatever the host has set for bridged packets.
 */
export function cniConfig(podCidrs: readonly string[]): string {
  const ranges = podCidrs.map((subnet) => [{ subnet }]);
  const routes = podCidrs.map((subnet) => ({ dst: isIpv6(subnet) ? "::/0" : "0.0.0.0/0" }));
  const ipam = { type: "host-local", ranges, routes };
  return JSON.stringify(
    {
      cniVersion: "0.4.0",
      name: "fjord",
      plugins: [
        { type: "ptp", ipMasq: false, ipam },
        { type: "portmap", capabilities: { portMappings: true } },
      ],
    },
    undefined,
    2,
  );
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
