import { dirname, join } from "node:path";
import type { NodeNetwork, SiteLayout } from "../site-layout.ts";
import { isIpv6, type NodePlan, prefixLength } from "./network-plan.ts";

/** Where a node sees its own directory and the programs that it was given, whatever the host calls them. */
export const inside = {
  directory: "/run/node",
  program: (name: string) => `/run/programs/${name}`,
  folder: (name: string) => `/run/folders/${name}`,
} as const;

export interface NodeScriptOptions {
  /** The node's directory on the host. */
  directory: string;
  node: NodePlan;
  /** All nodes of the site. */
  nodes: readonly NodePlan[];
  network: NodeNetwork;
  layout: Pick<SiteLayout, "podCidrs" | "serviceCidrs">;
  /** Files of programs that the node must see, by name. */
  programs: Readonly<Record<string, string>>;
  /** Folders that the node must see, by name. */
  folders?: Readonly<Record<string, string>>;
  /** Addresses that the node has beside its own: what it serves there is reached by all of its pods. */
  ownAddresses?: readonly string[];
  /** Whether something else leads to pods of other nodes, and hides them from others. */
  hasPodNetwork?: boolean;
  /** From `daemonProcessFiles`. */
  processFiles: readonly string[];
}

/** What the kubelet would set on the whole machine. It writes nothing where it reads what it wants. */
const kernelSettings: Readonly<Record<string, string>> = {
  "vm/overcommit_memory": "1",
  "vm/panic_on_oom": "0",
  "kernel/panic": "10",
  "kernel/panic_on_oops": "1",
  "kernel/keys/root_maxkeys": "1000000",
  "kernel/keys/root_maxbytes": "25000000",
};

/**
 * Starts a node's namespaces. They live as long as a process does that is in them, and everything made in them goes
 * with them: mounts, pods' networks, firewall rules, this end of the cable. All that is in them is in the node's control
 * group, so that ending that group's processes removes the node.
 */
export function startScript(options: Pick<NodeScriptOptions, "directory" | "processFiles">): string {
  const groups = options.processFiles.map((file) => dirname(dirname(file)));
  return `set -eu
${startEmpty(groups)}
rm -f ${quote(`${options.directory}/pid`)}
${joinCgroup(options.processFiles)}
# Descriptor 9 leads back to the host's network.
exec 9< /proc/self/ns/net
exec unshare --mount --net --uts --propagation private -- sh -eu ${quote(`${options.directory}/inside.sh`)}
`;
}

/** The script that `enterScript` gives, in a node's directory. */
export function enterFile(directory: string): string {
  return join(directory, "enter.sh");
}

export interface EnterScriptOptions extends Pick<NodeScriptOptions, "directory" | "processFiles"> {
  /** Seconds to wait for a node that is still on its way. @default 10 */
  patience?: number;
}

/** Runs a command in the node: `sh enter.sh COMMAND...`. It becomes the command, so that signals reach that. */
export function enterScript({ directory, processFiles, patience = 10 }: EnterScriptOptions): string {
  const [members = ""] = processFiles;
  return `set -eu
# Another process may have the number by now, and its namespaces are not to be touched.
is_there() { pid=$(cat ${quote(`${directory}/pid`)} 2> /dev/null) && grep -qx "$pid" ${quote(members)}; }
tries=${patience * 10}
until is_there; do
  if [ $tries -le 0 ]; then echo "the node is not running" >&2; exit 1; fi
  tries=$((tries - 1))
  sleep 0.1
done
${joinCgroup(processFiles)}
exec nsenter --target "$pid" --mount --net --uts -- "$@"
`;
}

/** What the first process of a node does. Its directory may lie below what it covers, so the order matters. */
export function insideScript(options: NodeScriptOptions): string {
  const { node, nodes, network, layout, programs, folders = {}, ownAddresses = [] } = options;
  const peers = nodes.filter((other) => other.name !== node.name);
  return `node=${quote(options.directory)}
mount -t tmpfs -o mode=755 node "$node/run"
mkdir -p "$node/run/node" "$node/run/programs" "$node/run/folders" "$node/run/kernel"
mount --bind "$node" "$node/run/node"
program() { touch "$node/run/programs/$1"; mount --bind "$2" "$node/run/programs/$1"; }
${lines(Object.entries(programs), ([name, file]) => `program ${quote(name)} ${quote(file)}`)}
folder() { mkdir "$node/run/folders/$1"; mount --bind "$2" "$node/run/folders/$1"; }
${lines(Object.entries(folders), ([name, folder]) => `folder ${quote(name)} ${quote(folder)}`)}
setting() {
  if [ -e "/proc/sys/$1" ]; then
    echo "$2" > "$node/run/kernel/\${1##*/}"
    mount --bind "$node/run/kernel/\${1##*/}" "/proc/sys/$1"
  fi
}
${lines(Object.entries(kernelSettings), ([name, value]) => `setting ${name} ${value}`)}
mount --bind "$node/lib" /var/lib
mount --bind "$node/log" /var/log
mount --rbind "$node/run" /run
mount --make-rshared /
echo ${node.name} > /proc/sys/kernel/hostname

host() { nsenter --net=/proc/self/fd/9 -- "$@"; }
# A node that starts again finds its old cable where its namespace has not quite gone.
if host ip link show dev ${node.link} > /dev/null 2>&1; then host ip link delete dev ${node.link} || true; fi
host ip link add ${node.link} type veth peer name eth0 netns $$
host ip link set ${node.link} master ${network.bridge} up
exec 9<&-
# An address that is tried out first is of no use for a second.
for each in default all; do echo 0 > /proc/sys/net/ipv6/conf/$each/accept_dad; done
ip -batch - <<END
link set dev lo up
${lines(ownAddresses, (own) => `address add ${own}/32 dev lo`)}
${lines(addressesOf(node, network), (each) => `address add ${each} dev eth0`)}
link set dev eth0 up
${lines(layout.serviceCidrs, (range) => `route add ${range} dev eth0`)}
${lines(options.hasPodNetwork ? [] : peers, (peer) => lines(peer.podCidrs, (range, i) => `route add ${range} via ${peer.addresses[i]}`))}
END
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
# To others than pods, pods speak in their node's name: the host need not know the way to them.
nft -f - <<END
table inet fjord-leave {
  chain leave {
    type nat hook postrouting priority srcnat
${lines(options.hasPodNetwork ? [] : node.podCidrs, (range, i) => `    ${leaving(range, layout.podCidrs[i] ?? "")} oifname "eth0" masquerade`)}
  }
}
END
echo $$ > "$node/pid.new"
mv "$node/pid.new" "$node/pid"
exec sleep infinity
`;
}

function addressesOf({ address, addresses }: NodePlan, { cidr, ipv6 }: NodeNetwork): string[] {
  const others = addresses.filter((each) => each !== address);
  return [`${address}/${prefixLength(cidr)}`, ...others.map((each) => `${each}/${prefixLength(ipv6?.cidr ?? "")}`)];
}

function leaving(own: string, all: string): string {
  const family = isIpv6(own) ? "ip6" : "ip";
  return `${family} saddr ${own} ${family} daddr != ${all}`;
}

/** A node that starts again is as empty as a machine that does: no pods run, and none have left their groups. */
function startEmpty(groups: readonly string[]): string {
  return `members() { find ${quote(groups[0] ?? "")} -name cgroup.procs -exec cat {} +; }
remove_pods() {
  for pid in $(members); do kill -KILL "$pid" 2> /dev/null || true; done
  for pods in ${groups.map((group) => quote(`${group}/kubepods`)).join(" ")}; do
    if [ -d "$pods" ]; then find "$pods" -depth -type d -exec rmdir {} + 2> /dev/null || return 1; fi
  done
}
tries=100
until remove_pods || [ $tries -eq 0 ]; do tries=$((tries - 1)); sleep 0.1; done`;
}

function joinCgroup(processFiles: readonly string[]): string {
  return lines(processFiles, (file) => `echo $$ > ${quote(file)}`);
}

function lines<T>(items: readonly T[], line: (item: T, index: number) => string): string {
  return items.map(line).join("\n");
}

/** A word for the shell, whatever is in it. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
