import type { EndpointSlice } from "@fjord/kube";

type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];
type Conditions = NonNullable<Endpoint["conditions"]>;
type Slice = Pick<EndpointSlice, "endpoints" | "metadata">;

/** Tells the provider's own controllers whose slice it is, so that they leave it alone. */
export const SLICE_KEEPER_LABEL = "endpointslice.kubernetes.io/managed-by";
export const SLICE_KEEPER = "fjord.dev";
export const SERVICE_LABEL = "kubernetes.io/service-name";

/** On a twin: what its consumer says of endpoints that cannot be reached from here, by address, so that it can be said again. */
export const SILENCED_ANNOTATION = "fjord.dev/silenced";

const SILENCED: Conditions = { ready: false, serving: false };

/** What a slice is to be where some addresses cannot be reached; undefined where it is so already. A consumer tells of nobody who does not serve: those that do not are silenced here. */
export function silenced(slice: Slice, isCutOff: (address: string) => boolean): SilencedSlice | undefined {
  const before = slice.endpoints ?? [];
  const notes = notesOf(slice.metadata.annotations);
  const kept = new Map<string, Conditions>();
  const endpoints = before.map((endpoint) => {
    const [address = ""] = endpoint.addresses;
    const told = toldConditions(endpoint, notes);
    if (!isCutOff(address)) return told === endpoint.conditions ? endpoint : withConditions(endpoint, told);
    kept.set(address, told ?? {});
    return isSilenced(endpoint) ? endpoint : withConditions(endpoint, SILENCED);
  });
  const note = kept.size === 0 ? undefined : JSON.stringify(Object.fromEntries(kept));
  const isSame = note === slice.metadata.annotations?.[SILENCED_ANNOTATION];
  return isSame && endpoints.every((each, i) => each === before[i]) ? undefined : { endpoints, note };
}

export interface SilencedSlice {
  readonly endpoints: Endpoint[];
  /** The annotation's new value; undefined where it is to go. */
  readonly note: string | undefined;
}

/** What a consumer tells anew, where what the provider has silenced in `slice` stays so until the provider gives it back. */
export function stillSilenced(told: readonly Endpoint[], { endpoints = [], metadata }: Slice): SilencedSlice {
  const notes = notesOf(metadata.annotations);
  const silent = new Set(endpoints.filter(isSilenced).flatMap(({ addresses: [address = ""] }) => address));
  const isStill = (address: string) => silent.has(address) && notes.has(address);
  const now = silenced({ endpoints: [...told], metadata: {} }, isStill);
  return now ?? { endpoints: [...told], note: undefined };
}

/** Endpoints as the consumer has told them. */
export function toldEndpoints(
  endpoints: readonly Endpoint[] | undefined,
  annotations: Readonly<Record<string, string>> | undefined,
): Endpoint[] {
  const notes = notesOf(annotations);
  if (notes.size === 0) return [...(endpoints ?? [])];
  return (endpoints ?? []).map((endpoint) => {
    const told = toldConditions(endpoint, notes);
    return told === endpoint.conditions ? endpoint : withConditions(endpoint, told);
  });
}

function toldConditions(endpoint: Endpoint, notes: ReadonlyMap<string, Conditions>): Conditions | undefined {
  const note = notes.get(endpoint.addresses[0] ?? "");
  return note === undefined || !isSilenced(endpoint) ? endpoint.conditions : note;
}

function isSilenced({ conditions }: Endpoint): boolean {
  return conditions?.ready === false && conditions.serving === false;
}

function withConditions({ conditions: _, ...endpoint }: Endpoint, conditions: Conditions | undefined): Endpoint {
  return { ...endpoint, ...(conditions !== undefined && { conditions }) };
}

/** Whoever may write the slice may write these: only what conditions are is taken. */
function notesOf(annotations: Readonly<Record<string, string>> | undefined): Map<string, Conditions> {
  const text = annotations?.[SILENCED_ANNOTATION];
  if (text === undefined) return new Map();
  try {
    const notes: unknown = JSON.parse(text);
    if (typeof notes !== "object" || notes === null) return new Map();
    return new Map(Object.entries(notes).map(([address, each]) => [address, conditionsOf(each)]));
  } catch {
    return new Map();
  }
}

function conditionsOf(note: unknown): Conditions {
  const { ready, serving, terminating } = (note ?? {}) as Record<string, unknown>;
  return {
    ...(typeof ready === "boolean" && { ready }),
    ...(typeof serving === "boolean" && { serving }),
    ...(typeof terminating === "boolean" && { terminating }),
  };
}
