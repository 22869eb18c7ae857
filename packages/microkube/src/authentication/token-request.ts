import type { KubeObject } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { Cluster } from "../cluster.ts";
import { find } from "../cluster-objects.ts";
import { invalidField } from "../field-error.ts";
import type { WriteContext } from "../kinds/resource-type.ts";
import { badRequest, conflict, invalid, notFound } from "../status-error.ts";
import type { Bound, ServiceAccountTokens } from "./service-account-token.ts";

interface TokenRequest extends KubeObject {
  spec?: {
    audiences?: string[];
    expirationSeconds?: number;
    boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string };
  };
}

const kind = { group: "authentication.k8s.io", kind: "TokenRequest" };
const resource = { group: "authentication.k8s.io", plural: "TokenRequest" };
/** What kubelets ask for in a projected volume: such tokens are given a year, and their use after that is noted. */
const WARN_ONLY_SECONDS = 3607;
const YEAR_SECONDS = 365 * 24 * 3600;

/** `serviceaccounts/token`: answers a TokenRequest. */
export function requestToken(tokens: ServiceAccountTokens) {
  return async (
    request: Pick<WriteContext, "cluster" | "namespace"> & { name: string; body: KubeObject | undefined },
  ): Promise<KubeObject> => {
    const { cluster, namespace, name } = request;
    const body = (request.body ?? { metadata: {} }) as TokenRequest;
    const metadata = body.metadata ?? {};
    checkPlace(metadata, namespace, name);
    const account = find(cluster, "ServiceAccount", namespace, name);
    if (account === undefined) throw notFound({ group: "", plural: "serviceaccounts" }, name);
    const { uid } = account.metadata;
    if (metadata.uid && metadata.uid !== uid) {
      const told = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`;
      throw conflict(resource, name, told);
    }
    const { expirationSeconds = 3600, boundObjectRef } = body.spec ?? {};
    const audiences = body.spec?.audiences?.length ? body.spec.audiences : tokens.audiences;
    checkSeconds(expirationSeconds);
    const bound = boundObjectRef ? findBound(cluster, namespace, name, boundObjectRef) : {};
    const isExtended =
      bound.pod !== undefined &&
      expirationSeconds === WARN_ONLY_SECONDS &&
      audiences.every((one) => tokens.audiences.includes(one));
    const now = cluster.clock.now();
    const token = tokens.issue({
      account,
      audiences,
      seconds: isExtended ? YEAR_SECONDS : expirationSeconds,
      ...(isExtended && { warnAfter: expirationSeconds }),
      ...bound,
    });
    const time = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
    const creationTimestamp = time(now);
    return {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { ...metadata, name, namespace, ...(uid !== undefined && { uid }), creationTimestamp },
      spec: { audiences, expirationSeconds, boundObjectRef: boundObjectRef ?? null },
      status: { token, expirationTimestamp: time(now + expirationSeconds * 1000) },
    } as KubeObject;
  };
}

function checkPlace(metadata: KubeObject["metadata"], namespace: string, name: string): void {
  const wrong = (field: string, value: string | undefined, wanted: string, told: string) => {
    if (value && value !== wanted) throw invalid(kind, name, [invalidField(`metadata.${field}`, value, told)]);
  };
  wrong("name", metadata.name, name, "must match the service account name if specified");
  wrong("namespace", metadata.namespace, namespace, "must match the service account namespace if specified");
}

function checkSeconds(seconds: number): void {
  const refuse = (told: string) => {
    throw invalid(kind, "", [invalidField("spec.expirationSeconds", seconds, told)]);
  };
  if (seconds < 600) refuse("may not specify a duration less than 10 minutes");
  if (seconds > 2 ** 32) refuse("may not specify a duration larger than 2^32 seconds");
}

interface Reference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
}

function findBound(
  cluster: Cluster,
  namespace: string,
  account: string,
  reference: Reference,
): { pod?: Bound; node?: Bound; secret?: Bound } {
  const { apiVersion = "v1", kind: of = "", name = "", uid = "" } = reference;
  const isCore = !apiVersion.includes("/");
  if (!isCore || !["Pod", "Node", "Secret"].includes(of)) {
    const [group, version] = isCore ? ["", apiVersion] : apiVersion.split("/");
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${of}`);
  }
  const object = find(cluster, of, of === "Node" ? "" : namespace, name);
  if (object === undefined) throw notFound({ group: "", plural: `${of.toLowerCase()}s` }, name);
  const spec = of === "Pod" ? (object as Pod).spec : undefined;
  if (of === "Pod" && spec?.serviceAccountName !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
    );
  }
  if (uid !== "" && uid !== object.metadata.uid) {
    const told = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: "", plural: of }, name, told);
  }
  const bound = boundTo(object);
  if (of === "Secret") return { secret: bound };
  if (of === "Node") return { node: bound };
  if (!spec?.nodeName) return { pod: bound };
  const node = find(cluster, "Node", "", spec.nodeName);
  return { pod: bound, node: node === undefined ? { name: spec.nodeName } : boundTo(node) };
}

function boundTo({ metadata: { name = "", uid } }: KubeObject): Bound {
  return { name, ...(uid !== undefined && { uid }) };
}
