import { defineError } from "@fjord/base";

export const TooManyNodesError = defineError(
  "TESTBED_TOO_MANY_NODES",
  "cannot give {site} {count} real nodes: a site has at most {max}",
  "Ask for fewer with --nodes, or spread them over more sites.",
);

export const NodeCommandError = defineError(
  "TESTBED_NODE_COMMAND",
  "cannot {what}: `{command}` ended with {outcome}: {output}",
  "The command's own words say why. Real nodes need root and the right to make network interfaces and namespaces.",
);

export const NodeEndedError = defineError(
  "TESTBED_NODE_ENDED",
  "{process} of {node} ended while the test bed waited for {what}; the last lines of {log}:\n{tail}",
  "The log lines say why. Real nodes need root, control groups and the right to make namespaces and mounts.",
);

export const TooFewInotifyError = defineError(
  "TESTBED_TOO_FEW_INOTIFY",
  "{process} of {node} ended: all inotify instances that this system allows a user are taken ({log})",
  "Allow more, as root: `sysctl fs.inotify.max_user_instances=1024`. Or end what else runs containers here.",
);

export const NodeNotReadyError = defineError(
  "TESTBED_NODE_NOT_READY",
  "{node}: waited {seconds} s in vain for {what} (last seen: {last})",
  "Look at the logs of its kubelet and containerd; a busy machine may need a longer timeout.",
);

export const NoNodeNetworkError = defineError(
  "TESTBED_NO_NODE_NETWORK",
  "cannot start real nodes at {site}: it was started without a network for them",
  "Ask for the nodes when the site is started: its API server has to listen on their bridge.",
);

export const NoControllersError = defineError(
  "TESTBED_NO_CONTROLLERS",
  "cannot start real nodes at {site}: it has neither a controller manager nor a scheduler",
  'Start the site with the components "all".',
);

export const NoCgroupsError = defineError(
  "TESTBED_NO_CGROUPS",
  "cannot start real nodes: no control groups are mounted",
  "Mount the cgroup file systems, as every distribution does at boot; a container needs them writable.",
);

export const NoMetricsAddressError = defineError(
  "TESTBED_NO_METRICS_ADDRESS",
  "cannot start metrics-server for {site}: the machine has no address but loopback, which no endpoint may have",
  "Give the site real nodes, whose bridge has an address, or the machine an interface.",
);
