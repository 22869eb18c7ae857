import { existsSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { silentLogger, sleep, systemClock } from "@fjord/base";
import { cpuSeconds } from "@fjord/testbed/bench";
import { type NamespaceSite, type NetworkNamespaces, namespaceSites, wireguardKeys } from "@fjord/testbed/namespaces";
import { wireguardProgram } from "@fjord/testbed/testing";
import { testState } from "../../src/network/fabric/test-state.ts";
import { Gateway } from "../../src/network/gateway/gateway.ts";
import { NodeNetwork } from "../../src/network/gateway/node-network.ts";
import { WireguardSocket } from "../../src/network/gateway/wireguard-socket.ts";
import type { NetworkState, PeerNetwork } from "../../src/network/network-state.ts";

/** How packets go: with both sites' addresses the same, with different ones, or through WireGuard alone. */
export type Way = "translated" | "as it is" | "raw";

export interface LinkedPods {
  /** Of TCP, by iperf3, for a second. */
  throughput(way: Way, flows: number): Promise<Throughput>;
  /** Small datagrams that arrive in a second, of as many as one sender can send. */
  datagrams(way: Way): Promise<{ readonly thousands: number }>;
  /** Of 2,000 datagrams for each of these ways, which take them in turn, one by one. */
  roundTrips<W extends Way>(...ways: readonly W[]): Promise<ReadonlyMap<W, RoundTrips>>;
}

export interface Throughput {
  readonly megabits: number;
  /** Processor seconds of both ends' WireGuard and of the programs that measure, for each gigabyte. */
  readonly cost: number;
}

export interface RoundTrips {
  /** Microseconds, in the middle. */
  readonly median: number;
}

export interface LinkedPodsOptions {
  /** Side by side. */
  readonly links: number;
  /** Peers that the gateways have beside each other, with ten pods each; none of them ever answers. @default 0 */
  readonly strangers?: number;
}

/** Second ranges of the sites, which differ; and third ones, which only WireGuard alone carries. */
const OTHER = { a: "10.50.0.0/16", b: "10.60.0.0/16" } as const;
const RAW = { a: "10.70.0.0/16", b: "10.80.0.0/16" } as const;
const SAME = { range: "10.42.0.0/16", called: "247.0.0.0/16" } as const;
const LISTEN = { fjord: 51_820, raw: 52_820 } as const;

const address = (range: string, pod: { ipv4: string }) =>
  range.replace(/\.0\.0\/16$/, pod.ipv4.replace(/^\d+\.\d+/, ""));

let beds = 0;

/** Each site has half of the processors to itself, as sites have: who runs beside whom would else be chance, and change from run to run. */
function share(end: "a" | "b"): string {
  const count = cpus().length;
  const half = Math.floor(count / 2);
  if (half === 0) return "0";
  return end === "a" ? `0-${half - 1}` : `${half}-${count - 1}`;
}

export async function linkedPods(
  namespaces: NetworkNamespaces,
  { links, strangers = 0 }: LinkedPodsOptions,
): Promise<LinkedPods> {
  const [a, b] = (await namespaceSites(namespaces, { a: 1, b: 1 })) as [NamespaceSite, NamespaceSite];
  const keys = { a: wireguardKeys(), b: wireguardKeys() };
  const mark = `${process.pid.toString(36)}${(beds++).toString(36)}`;
  const others = testState(strangers).peers;
  const ends = [
    { site: a, other: b, name: "a", peer: "b" },
    { site: b, other: a, name: "b", peer: "a" },
  ] as const;
  for (const { site, other, name, peer } of ends) {
    const network = new NodeNetwork({ prefix: namespaces.prefix(site.gateway), wireguardProgram: wireguardProgram() });
    for (const range of [OTHER[name], RAW[name]]) {
      const gateway = range.replace("0.0/16", "0.1");
      const own = address(range, podOf(site));
      await namespaces.ip(site.gateway, "address", "add", `${gateway}/16`, "dev", "pods");
      await namespaces.ip(`${name}1`, "address", "add", `${own}/16`, "dev", "eth0");
    }
    // Who is asked at an address answers from it; who asks does so from the one of the same way.
    for (const [own, far] of [
      [OTHER[name], OTHER[peer]],
      [RAW[name], RAW[peer]],
    ] as const)
      await namespaces.ip(`${name}1`, "route", "add", far, "via", "10.42.0.1", "src", address(own, podOf(site)));
    const state: NetworkState = {
      listenPort: LISTEN.fjord,
      mtu: 1380,
      parallel: links,
      ranges: [SAME.range, OTHER[name]],
      peers: [
        {
          siteId: peer,
          own: [SAME, { range: OTHER[name], called: OTHER[name] }],
          peer: [SAME, { range: OTHER[peer], called: OTHER[peer] }],
          link: { publicKey: keys[peer].public, endpoints: [`${other.address}:${LISTEN.fjord}`] },
          groups: [
            {
              name: "shop",
              local: [podOf(site).ipv4, address(OTHER[name], podOf(site))],
              remote: [address(SAME.called, podOf(other)), address(OTHER[peer], podOf(other))],
            },
          ],
        },
        ...others,
      ],
    };
    const options = { network, interfacePrefix: `y${mark}${name}l`, clock: systemClock, logger: silentLogger };
    await new Gateway(options).apply(state, keys[name].private);
    for (let lane = 0; lane < links; lane++) await leaveAlone(`${options.interfacePrefix}${lane}`, others);
    const prefix = `y${mark}${name}r`;
    await rawWireguard(namespaces, network, { site, other, name, peer, keys, links, others, prefix });
  }
  const pids = await wireguards(namespaces, [a.gateway, b.gateway]);
  for (const { pid, namespace } of pids)
    await namespaces.run(
      namespace,
      "taskset",
      "--all-tasks",
      "--cpu-list",
      "--pid",
      share(namespace === a.gateway ? "a" : "b"),
      String(pid),
    );
  const at = (end: "a" | "b", ...command: string[]) =>
    [`${end}1`, "taskset", "--cpu-list", share(end), ...command] as const;
  let server = namespaces.spawn(...at("b", "iperf3", "-s"));
  namespaces.spawn(...at("b", process.execPath, "-e", ECHO));
  const target = {
    translated: address(SAME.called, podOf(b)),
    "as it is": address(OTHER.b, podOf(b)),
    raw: address(RAW.b, podOf(b)),
  };
  for (const to of Object.values(target)) await namespaces.run(...at("a", process.execPath, "-e", PING, "10", to));
  // It takes whole seconds alone, and cuts off what is beyond. Once in some hundred times its two ends wait for each other for ever: then it is begun anew.
  const iperf = async (way: Way, ...options: string[]): Promise<Measured> => {
    for (let left = 3; ; left--) {
      try {
        const command = ["timeout", "10", "iperf3", "-J", "-c", target[way], "-t", "1", ...options];
        return JSON.parse(await namespaces.run(...at("a", ...command)));
      } catch (error) {
        if (left === 0) throw error;
        server.kill("SIGKILL");
        server = namespaces.spawn(...at("b", "iperf3", "-s"));
        await sleep(systemClock, 500);
      }
    }
  };
  const spent = (way: Way) =>
    pids
      .filter(({ name }) => /r\d+$/.test(name) === (way === "raw"))
      .reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  return {
    async throughput(way, flows) {
      const before = spent(way);
      const { end } = await iperf(way, "-P", String(flows));
      const { host_total: here, remote_total: there } = end.cpu_utilization_percent;
      const { bits_per_second: bits, seconds } = end.sum_received;
      const busy = ((here + there) / 100) * seconds + (spent(way) - before);
      return { megabits: bits / 1e6, cost: busy / ((bits * seconds) / 8e9) };
    },
    async datagrams(way) {
      const { end } = await iperf(way, "-u", "-b", "0", "-l", "64");
      const { packets = 0, lost_packets: lost = 0, seconds } = end.sum;
      return { thousands: (packets - lost) / seconds / 1000 };
    },
    async roundTrips(...ways) {
      const count = String(2000 * ways.length);
      const targets = ways.map((way) => target[way]);
      const printed = await namespaces.run(...at("a", process.execPath, "-e", PING, count, ...targets));
      const medians = JSON.parse(printed) as number[];
      return new Map(ways.map((way, i) => [way, { median: medians[i] ?? Number.NaN }]));
    },
  };
}

/** Of what iperf3 prints. */
interface Measured {
  readonly end: {
    readonly sum: { readonly packets?: number; readonly lost_packets?: number; readonly seconds: number };
    readonly sum_received: { readonly bits_per_second: number; readonly seconds: number };
    readonly cpu_utilization_percent: { readonly host_total: number; readonly remote_total: number };
  };
}

/** Processes of WireGuard in these namespaces, and their interfaces. */
async function wireguards(namespaces: NetworkNamespaces, where: readonly string[]) {
  const found: { pid: number; name: string; namespace: string }[] = [];
  for (const namespace of where) {
    const text = await namespaces.run(namespace, "ip", "netns", "pids", namespaces.fullName(namespace));
    for (const pid of text.split("\n").filter(Boolean).map(Number)) {
      // The one that has listed them has ended.
      if (!existsSync(`/proc/${pid}`)) continue;
      const [program = "", name = ""] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      if (program.endsWith("wireguard-go")) found.push({ pid, name, namespace });
    }
  }
  return found;
}

const podOf = (site: NamespaceSite) => [...site.pods.values()][0] as { ipv4: string; ipv6: string };

interface RawEnd {
  readonly site: NamespaceSite;
  readonly other: NamespaceSite;
  readonly name: "a" | "b";
  readonly peer: "a" | "b";
  readonly keys: Readonly<Record<"a" | "b", { private: string; public: string }>>;
  readonly links: number;
  readonly others: readonly PeerNetwork[];
  readonly prefix: string;
}

/** A gateway greets who has never answered, and each greeting costs a handshake: those whom nobody plays are not to be greeted. */
async function leaveAlone(name: string, others: readonly PeerNetwork[]): Promise<void> {
  if (others.length === 0) return;
  const silent = others.flatMap(({ link }) => [`public_key=${hex(link.publicKey)}`, "persistent_keepalive_interval=0"]);
  await new WireguardSocket(name).set(silent);
}

/** As many interfaces of the same WireGuard, with as many peers, and a route; nothing else. */
async function rawWireguard(namespaces: NetworkNamespaces, network: NodeNetwork, end: RawEnd): Promise<void> {
  const { site, other, name, peer, keys, links, others, prefix } = end;
  const hops: string[] = [];
  for (let i = 0; i < links; i++) {
    await network.startWireguard(`${prefix}${i}`);
    await new WireguardSocket(`${prefix}${i}`).set([
      `private_key=${hex(keys[name].private)}`,
      `listen_port=${LISTEN.raw + i}`,
      `public_key=${hex(keys[peer].public)}`,
      `endpoint=${other.address}:${LISTEN.raw + i}`,
      `allowed_ip=${RAW[peer]}`,
      ...others.flatMap((one) => [
        `public_key=${hex(one.link.publicKey)}`,
        ...one.peer.map(({ called }) => `allowed_ip=${called}`),
      ]),
    ]);
    await namespaces.ip(site.gateway, "link", "set", "dev", `${prefix}${i}`, "mtu", "1380", "up");
    hops.push("nexthop", "dev", `${prefix}${i}`);
  }
  await namespaces.ip(site.gateway, "route", "add", RAW[peer], ...hops);
  // Without this the raw link alone would have to find out how large packets may be.
  await namespaces.ip(`${name}1`, "link", "set", "dev", "eth0", "mtu", "1380");
}

const ECHO = `
const socket = require("node:dgram").createSocket("udp4");
socket.on("message", (data, { address, port }) => socket.send(data, port, address));
socket.bind(7001);`;

/** Sends one datagram after the other, to one target after the other, and prints the median time of each one's answers in microseconds. */
const PING = `
const [count, ...targets] = process.argv.slice(1);
const socket = require("node:dgram").createSocket("udp4");
const times = targets.map(() => []);
let [sent, start, timer] = [0];
const send = () => { clearTimeout(timer); timer = setTimeout(send, 500); start = process.hrtime.bigint(); socket.send("ping", 7001, targets[sent % targets.length]); };
socket.on("message", (_, { address }) => {
  // What comes late is not of this one.
  if (address !== targets[sent % targets.length]) return;
  times[sent++ % targets.length].push(Number(process.hrtime.bigint() - start) / 1000);
  if (sent < Number(count)) return send();
  console.log(JSON.stringify(times.map((each) => each.sort((a, b) => a - b)[each.length >> 1])));
  process.exit(0);
});
send();`;

const hex = (base64: string) => Buffer.from(base64, "base64").toString("hex");
