import { type Pod, podRequests, type Quantity } from "@fjord/kube";

/** Amounts by resource, as plain numbers: processors in thousandths, all else in whole units, rounded up. */
export type Amounts = ReadonlyMap<string, number>;

/** What a scheduler asks of a pod again and again, worked out once per version of it. */
export interface PodFacts {
  readonly pod: Pod;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly requests: Amounts;
  /** What it is taken to use where it says nothing: an empty request is no free pod. Only for scores. */
  readonly likely: { readonly cpu: number; readonly memory: number };
  readonly ports: readonly HostPort[];
  readonly requiredAffinity: readonly AffinityTerm[];
  readonly requiredAntiAffinity: readonly AffinityTerm[];
  readonly preferredAffinity: readonly WeightedTerm[];
  readonly preferredAntiAffinity: readonly WeightedTerm[];
  /** Whether it says anything about pods beside it. */
  readonly hasAffinity: boolean;
  /** The uid of what controls it. */
  readonly controller: string | undefined;
  /** The claims that it mounts, by name, those of ephemeral volumes among them. */
  readonly claims: readonly string[];
  readonly isEnding: boolean;
}

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

type PodAffinity = NonNullable<NonNullable<NonNullable<Pod["spec"]>["affinity"]>["podAffinity"]>;
export type AffinityTerm = NonNullable<PodAffinity["requiredDuringSchedulingIgnoredDuringExecution"]>[number];
export interface WeightedTerm {
  readonly weight: number;
  readonly podAffinityTerm: AffinityTerm;
}

const LIKELY_CPU = 100;
const LIKELY_MEMORY = 200 * 1024 * 1024;

export function podFacts(pod: Pod): PodFacts {
  const { metadata, spec } = pod;
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  const requests = plainAmounts(podRequests(pod));
  return {
    pod,
    uid: metadata.uid ?? "",
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    labels: metadata.labels ?? {},
    priority: spec?.priority ?? 0,
    requests,
    likely: { cpu: requests.get("cpu") ?? LIKELY_CPU, memory: requests.get("memory") ?? LIKELY_MEMORY },
    ports: hostPorts(pod),
    requiredAffinity: podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [],
    requiredAntiAffinity: podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [],
    preferredAffinity: podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [],
    preferredAntiAffinity: podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [],
    hasAffinity: podAffinity !== undefined || podAntiAffinity !== undefined,
    controller: metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid,
    claims: claimNames(pod),
    isEnding: metadata.deletionTimestamp !== undefined,
  };
}

/** As the scheduler counts them. */
export function plainAmounts(amounts: ReadonlyMap<string, Quantity>): Amounts {
  return new Map(
    [...amounts].map(([name, amount]) => [name, roundUp(amount, name === "cpu" ? 1_000_000n : 1_000_000_000n)]),
  );
}

function roundUp(amount: bigint, divisor: bigint): number {
  return Number(amount > 0n ? (amount + divisor - 1n) / divisor : amount / divisor);
}

function hostPorts({ spec }: Pod): HostPort[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  return [...(spec?.containers ?? []), ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, hostIP, protocol }) =>
      hostPort === undefined || hostPort === 0
        ? []
        : [
            {
              ip: hostIP === undefined || hostIP === "" ? "0.0.0.0" : hostIP,
              protocol: protocol ?? "TCP",
              port: hostPort,
            },
          ],
    ),
  );
}

function claimNames({ metadata, spec }: Pod): string[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [`${metadata.name}-${name}`];
  });
}
