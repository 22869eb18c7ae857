interface Answer {
  readonly code: number;
  readonly body: unknown;
}

const momentary = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "managedFields",
  "lastTransitionTime",
  "lastUpdateTime",
  "authentication.kubernetes.io/credential-id",
  "disruptedPods",
]);

/** What two servers must agree on: not what is of the moment, nor in which words a difference is told. */
export function comparable({ code, body }: Answer): Answer {
  return { code, body: plain(body) };
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "string") return withoutMoment(value);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(([name]) => !momentary.has(name))
    .map(([name, one]) => [name, name === "causes" ? distinct(one) : plain(one)] as const);
  return Object.fromEntries(entries);
}

/** `addresses`: what the addresses of the server's services begin with. */
export function inRange(value: unknown, addresses: string): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value).replaceAll("RANGE.", addresses));
}

const withoutMoment = (text: string): string =>
  (text.split("\n@@")[0] as string)
    .replace(/10\.(181|96)\./g, "RANGE.")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "a-uid");

/** The real server repeats some causes, and goes through maps in no order. */
function distinct(causes: unknown): unknown {
  const texts = (causes as unknown[]).map((cause) => JSON.stringify(plain(cause)));
  return [...new Set(texts)].sort().map((text) => JSON.parse(text));
}
