import type { Link, Site } from "@fjord/api";
import { isForbidden, type KubeClient, Pod } from "@fjord/kube";
import { NoGateway } from "../../errors.ts";

/** A gateway, and the way to what it serves on its node alone. */
export interface Carrier {
  readonly title: string;
  readonly way: { readonly pod: string } | { readonly url: string };
}

const GATEWAYS = "app.kubernetes.io/name=fjord,app.kubernetes.io/component=gateway";
export const GATEWAY_PORT = 7448;

export interface CarrierOptions {
  readonly client: KubeClient;
  /** The agent's. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Nodes that carry a link now, by what they have said. */
export function carryingNodes(own: Pick<Site, "status">, { status }: Pick<Link, "status">): string[] {
  const nodes = [...(status?.lanes ?? []).map(({ node }) => node), own.status?.gateway?.node];
  return [...new Set(nodes.filter((node) => node !== undefined && node !== ""))] as string[];
}

/** Pods of gateways on those nodes; where a site's gateway is no pod, what listens on this machine. */
export async function carriersOf(nodes: readonly string[], options: CarrierOptions): Promise<Carrier[]> {
  const { client, namespace, signal } = options;
  const pods = await client.list(Pod, { namespace, labelSelector: GATEWAYS, signal }).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    throw new NoGateway({ reason: `you may not look for pods in namespace ${namespace}` }, { cause: error });
  });
  const running = pods.items.filter(
    ({ status, metadata }) => status?.phase === "Running" && !metadata.deletionTimestamp,
  );
  const ofNodes = running.filter(({ spec }) => nodes.includes(spec?.nodeName ?? ""));
  if (ofNodes.length > 0) return ofNodes.map(carrierOf);
  // One that was started without a node's name does not say where it is.
  if (nodes.length === 0 && running.length > 0) return running.map(carrierOf);
  return [localCarrier(`http://127.0.0.1:${GATEWAY_PORT}`)];
}

export function localCarrier(url: string): Carrier {
  return { title: url, way: { url } };
}

function carrierOf({ metadata, spec }: Pod): Carrier {
  return { title: `node ${spec?.nodeName}`, way: { pod: metadata.name ?? "" } };
}
