import { createServer } from "node:http";
import { isIP } from "node:net";
import { CaptureAccess } from "@fjord/agent";
import { silentLogger, systemClock } from "@fjord/base";
import {
  Captures,
  captureRoute,
  Fence,
  Gateway,
  GatewayLoop,
  GatewayObjects,
  type GatewayPlace,
  GatewayRole,
  LinkProbe,
  NodeNetwork,
  NodeWay,
  PROBE_PORT,
  UnansweredFlows,
} from "@fjord/continuum/gateway";
import { type KubeClient, SharedCaches } from "@fjord/kube";
import { type EchoPod, type NetworkNamespaces, namespaceUdp } from "../namespaces/index.ts";
import { wireguardProgram } from "../testing.ts";
import { eventually } from "./acceptance-bed.ts";

/** The address by which the other sees the pod; the gateways may not be there yet. */
export async function answered(pod: EchoPod, address: string): Promise<string> {
  return await eventually(`${address} answers`, async () => {
    const seen = await pod.ask(address, { patienceMs: 2_000 });
    return isIP(seen) !== 0 && seen;
  });
}

/** WireGuard's sockets are in one folder, for all network namespaces. */
export function interfacePrefixOf(node: string): string {
  return `n${process.pid.toString(36)}${node[0]}${node[2]}`;
}

export interface GatewayAt {
  /** The network namespace. */
  readonly node: string;
  /** Where several nodes may carry links. When `signal` aborts, all that it has of the API goes with it, as by a power cut. */
  readonly place?: Omit<GatewayPlace, "role">;
  readonly mayCarry?: boolean;
  /** Where it gives packets to who may see them, on this machine's loopback. @default nowhere */
  readonly capturePort?: number;
  /** @default 200 */
  readonly tickMs?: number;
  /** Reaches the gateway by VXLAN though it is a neighbour. @default false */
  readonly tunnel?: boolean;
  readonly signal: AbortSignal;
}

/** What runs on a node of a site, by what the site's API says; only its commands run in a network namespace. */
export async function runGateway(
  client: KubeClient,
  { node, place, mayCarry, capturePort, tickMs = 200, tunnel = false, signal }: GatewayAt,
  namespaces: NetworkNamespaces,
): Promise<void> {
  const means = { clock: systemClock, random: Math.random, logger: silentLogger };
  const program = { prefix: namespaces.prefix(node), wireguardProgram: wireguardProgram() };
  const network = mortalNetwork(new NodeNetwork(program), signal);
  const caches = new SharedCaches({ ...means, client });
  const now = () => systemClock.now();
  const role = mayCarry
    ? new GatewayRole({ ...means, client: mortalClient(client, signal), namespace: "fjord-system", node })
    : undefined;
  const source = new GatewayObjects({
    client,
    caches,
    namespace: "fjord-system",
    now,
    ...(place && { place: { ...place, ...(role && { role }) } }),
  });
  const interfacePrefix = interfacePrefixOf(node);
  const gateway = new Gateway({ ...means, network, interfacePrefix });
  const captures = new Captures({ ...means, network, linkOf: (siteId) => gateway.linkOf(siteId) });
  const access = new CaptureAccess({ client, clock: systemClock });
  const whoMay = (code: string, siteId: string) => access.whoMay(code, siteId);
  const server = createServer(captureRoute({ ...means, captures, whoMay, nameOf: (siteId) => source.nameOf(siteId) }));
  if (capturePort !== undefined) server.listen(capturePort, "127.0.0.1");
  const fence = new Fence({ ...means, network, interfacePrefix });
  const loop = new GatewayLoop({
    ...means,
    gateway,
    captures,
    fence: {
      keep: (ports, heir) => fence.keep(ports, heir),
      // Who is killed says nothing.
      leave: () => fence.rest(),
      remove: () => fence.remove(),
    },
    way: new NodeWay({ network, interfacePrefix, alwaysTunnel: tunnel, logger: silentLogger }),
    unanswered: new UnansweredFlows({ ...means, network }),
    source,
    probe: (lane) =>
      new LinkProbe({
        ...means,
        lane,
        everyMs: 500,
        open: (address, heard) => namespaceUdp(namespaces, node, { address, port: PROBE_PORT }, heard),
      }),
    told: (reports) => source.tell(reports),
    tickMs,
  });
  const watching = caches.run(signal);
  await caches.waitForSync(signal);
  await Promise.all([loop.run(signal), role?.run(signal), watching]);
  // Nothing else is cleared away: the node may be gone with all that it had.
  server.close().closeAllConnections();
}

/** A client that reaches nobody from the end on: a lease is not given back. */
function mortalClient(client: KubeClient, end: AbortSignal): Pick<KubeClient, "get" | "create" | "update"> {
  const whileAlive =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A) => {
      if (end.aborted) throw new Error("switched off");
      return await call.apply(client, args);
    };
  const { get, create, update } = client;
  return { get: whileAlive(get), create: whileAlive(create), update: whileAlive(update) } as typeof client;
}

/** A network that is changed by nobody from the end on: on a busy machine what was begun would go on for seconds, and say that the node lives. */
function mortalNetwork(network: NodeNetwork, end: AbortSignal): NodeNetwork {
  return new Proxy(network, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        if (end.aborted) return switchedOff();
        return value.apply(target, args);
      };
    },
  });
}

/** Who starts a program by it looks for no promise, and leaves this one. */
function switchedOff(): Promise<never> {
  const nothing = Promise.reject(new Error("switched off"));
  nothing.catch(() => {});
  return nothing;
}
