import { request as send } from "node:https";
import { rootCertificates } from "node:tls";
import { describeError, type KubeObject } from "@fjord/base";
import type { EndpointSlice, Service } from "@fjord/kube";
import { serviceEndpoint } from "../admission/webhooks/service-endpoint.ts";
import { type CertificatePair, remoteHeaders } from "../authentication/index.ts";
import type { Cluster } from "../cluster.ts";
import { find, findAll } from "../cluster-objects.ts";
import type { Destination } from "../server/pass-through.ts";
import { wholeAnswer } from "../whole-answer.ts";
import type { ApiService } from "./api-service.ts";

/** Why an APIService is available, or is not. */
export interface Availability {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

const TIMEOUT_MS = 5_000;
const MOST_BYTES = 8 * 1024 * 1024;
const not = (reason: string, message: string): Availability => ({ status: "False", reason, message });
export const PASSED: Availability = { status: "True", reason: "Passed", message: "all checks passed" };

/** Where the server behind an APIService is reached, and how it is to be spoken to. Throws where it is nowhere. */
export function remoteDestination(
  cluster: Cluster,
  { spec }: ApiService,
  certificate: CertificatePair,
): Omit<Destination, "path"> {
  const { service = { namespace: "", name: "" }, caBundle, insecureSkipTLSVerify } = spec;
  const { namespace, name, port = 443 } = service;
  const servername = `${name}.${namespace}.svc`;
  const ca = caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : rootCertificates.join("\n");
  return {
    scheme: "https",
    ...serviceEndpoint(cluster, { namespace, name, port }),
    certificate,
    servername,
    ...(!insecureSkipTLSVerify && { ca }),
    headers: { host: `${servername}:${port}` },
  };
}

/** What stands in the way before anybody is asked. */
export function placeProblem(cluster: Cluster, { spec }: ApiService): Availability | undefined {
  const { namespace, name, port = 443 } = spec.service ?? { namespace: "", name: "" };
  const service = find<Service>(cluster, "Service", namespace, name);
  const place = `service/${name} in ${JSON.stringify(namespace)}`;
  if (service === undefined) return not("ServiceNotFound", `${place} is not present`);
  if (service.spec?.type === "ExternalName") return undefined;
  const found = service.spec?.ports?.find((one) => one.port === port);
  if (found === undefined) return not("ServicePortError", `${place} is not listening on port ${port}`);
  const slices = findAll<EndpointSlice>(cluster, "EndpointSlice", namespace, "discovery.k8s.io").filter(
    ({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === name,
  );
  if (slices.length === 0) return not("EndpointsNotFound", `cannot find endpointslices for ${place}`);
  const portName = found.name ?? "";
  const isReady = slices.some(
    ({ endpoints = [], ports = [] }) =>
      ports.some((one) => (one.name ?? "") === portName) &&
      endpoints.some(({ conditions, addresses }) => (conditions?.ready ?? true) && addresses.length > 0),
  );
  if (isReady) return undefined;
  const none = `have no addresses with port name ${JSON.stringify(portName)}`;
  return not("MissingEndpoints", `endpointslices for ${place} ${none}`);
}

/** Asks the server what it serves: that it answers is what makes it available. */
export async function askRemote(
  cluster: Cluster,
  service: ApiService,
  certificate: CertificatePair,
): Promise<{ availability: Availability; resources?: KubeObject }> {
  const problem = placeProblem(cluster, service);
  if (problem !== undefined) return { availability: problem };
  const { group = "", version = "" } = service.spec;
  const path = `/apis/${group}/${version}`;
  let url = path;
  try {
    const destination = remoteDestination(cluster, service, certificate);
    url = `https://${destination.host}:${destination.port}${path}`;
    const { status, text } = await get({ ...destination, path });
    if (status < 200 || status > 299) throw new Error(`bad status from ${url}: ${status}`);
    return { availability: PASSED, resources: JSON.parse(text) };
  } catch (error) {
    const why = (error as Error).name === "TimeoutError" ? "context deadline exceeded" : describeError(error);
    return { availability: not("FailedDiscoveryCheck", `failing or missing response from ${url}: ${why}`) };
  }
}

function get({ scheme: _, certificate, headers, ...place }: Destination): Promise<{ status: number; text: string }> {
  const remote = remoteHeaders({ user: "system:kube-aggregator", groups: ["system:masters"] });
  const options = {
    ...{ ...place, ...certificate, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) },
    ...(place.ca === undefined && { rejectUnauthorized: false }),
    headers: { ...(headers as Record<string, string>), ...remote, accept: "application/json" },
  };
  return new Promise((resolve, reject) => {
    const request = send(options, (response) => resolve(wholeAnswer(response, MOST_BYTES)));
    request.on("error", reject);
    request.end();
  });
}
