import { sleep } from "@fjord/base";
import type { Pod, ServiceAccount } from "@fjord/kube";
import { find } from "../cluster-objects.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { mountableProblem } from "./mountable-secrets.ts";
import { isFor, refusal } from "./refusal.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Volume = NonNullable<PodSpec["volumes"]>[number];

const MIRROR = "kubernetes.io/config.mirror";
const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME = "kube-api-access-";
/** A new namespace gets its default account a moment later. */
const LOOKS = 10;
const LOOK_MS = 150;

/** Every pod runs as a service account, and has its token, the cluster's authority and its namespace mounted. */
export const serviceAccount: AdmissionPlugin = {
  name: "ServiceAccount",
  mutate(request) {
    if (!isFor(request, "pods") || request.operation !== "CREATE") return;
    const pod = request.object as Pod;
    if (isMirror(pod)) return checkMirror(request, pod);
    // What is missing is told by validation, which comes later.
    pod.spec ??= { containers: [] };
    const { spec } = pod;
    spec.serviceAccountName ||= "default";
    const account = find<ServiceAccount>(request.cluster, "ServiceAccount", request.namespace, spec.serviceAccountName);
    // Nearly always it is there: then nothing waits, not even for a turn of the event loop.
    return account === undefined ? awaitAccount(request, spec) : equip(request, spec, account);
  },
  validate(request) {
    const { type, subresource, operation, object } = request;
    if (type.plural !== "pods" || type.group !== "") return;
    const pod = object as Pod;
    const isDebug = operation === "UPDATE" && subresource === "ephemeralcontainers";
    if (!isDebug && !(operation === "CREATE" && subresource === "")) return;
    if (!isDebug && isMirror(pod)) return checkMirror(request, pod);
    const { serviceAccountName = "" } = pod.spec ?? {};
    if (serviceAccountName === "") {
      throw refusal(request, `no service account specified for pod ${request.namespace}/${pod.metadata.name}`);
    }
    const account = find<ServiceAccount>(request.cluster, "ServiceAccount", request.namespace, serviceAccountName);
    if (account === undefined) throw notThere(request, serviceAccountName);
    const problem = mountableProblem(account, pod, isDebug ? "ephemeral" : "own");
    if (problem !== undefined) throw refusal(request, problem);
  },
};

async function awaitAccount(request: AdmissionRequest, spec: PodSpec): Promise<void> {
  const name = spec.serviceAccountName ?? "";
  for (let look = 0; look < (name === "default" ? LOOKS : 0); look++) {
    await sleep(request.cluster.clock, LOOK_MS);
    const account = find<ServiceAccount>(request.cluster, "ServiceAccount", request.namespace, name);
    if (account !== undefined) return equip(request, spec, account);
  }
  throw notThere(request, name);
}

const notThere = (request: AdmissionRequest, name: string) =>
  refusal(
    request,
    `error looking up service account ${request.namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
  );

function equip({ cluster }: AdmissionRequest, spec: PodSpec, account: ServiceAccount): void {
  if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) {
    mountToken(spec, () => VOLUME + suffix(cluster.random));
  }
  if ((spec.imagePullSecrets ?? []).length === 0 && (account.imagePullSecrets ?? []).length > 0) {
    spec.imagePullSecrets = (account.imagePullSecrets ?? []).map(({ name }) => ({ ...(name && { name }) }));
  }
}

/** Where something is mounted already, it stays. */
export function mountToken(spec: PodSpec, newName: () => string): void {
  const existing = spec.volumes?.find(({ name }) => name?.startsWith(VOLUME))?.name;
  const name = existing ?? newName();
  let isNeeded = false;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    if (container.volumeMounts?.some(({ mountPath }) => mountPath === MOUNT_PATH)) continue;
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: MOUNT_PATH }];
    isNeeded = true;
  }
  if (existing === undefined && isNeeded) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
}

function tokenVolume(name: string): Volume {
  const sources = [
    { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: {
        items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
      },
    },
  ];
  return { name, projected: { sources, defaultMode: 420 } };
}

const letters = "bcdfghjklmnpqrstvwxz2456789";
const suffix = (random: () => number) =>
  Array.from({ length: 5 }, () => letters[Math.floor(random() * letters.length)]).join("");

const isMirror = ({ metadata }: Pod) => metadata.annotations?.[MIRROR] !== undefined;

/** A kubelet may not get at secrets by way of a pod that it reports itself. */
function checkMirror(request: AdmissionRequest, pod: Pod): void {
  const { spec } = pod;
  if (spec?.serviceAccountName) throw refusal(request, "a mirror pod may not reference service accounts");
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const hasSecret =
    (spec?.imagePullSecrets ?? []).length > 0 ||
    containers.some(
      ({ env = [], envFrom = [] }) =>
        env.some(({ valueFrom }) => valueFrom?.secretKeyRef) || envFrom.some(({ secretRef }) => secretRef),
    ) ||
    (spec?.volumes ?? []).some(
      ({ secret, projected }) => secret || projected?.sources?.some((source) => source.secret),
    );
  if (hasSecret) throw refusal(request, "a mirror pod may not reference secrets");
  const hasToken = (spec?.volumes ?? []).some(({ projected }) =>
    projected?.sources?.some((source) => source.serviceAccountToken),
  );
  if (hasToken) throw refusal(request, "a mirror pod may not use ServiceAccountToken volume projections");
}
