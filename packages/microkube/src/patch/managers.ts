import { FieldSet, fieldSetOf } from "./field-set.ts";
import { isObject } from "./json-value.ts";

/** Who wrote fields, by which operation, and which: an entry of `managedFields`. */
export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly set: FieldSet;
  /** As it was read: where the set is still that one, it need not be written anew. */
  readonly read?: { readonly set: FieldSet; readonly fields: unknown };
}

/** By what tells one manager from another. Those that apply are one, whatever version they use. */
export type Managers = Map<string, Manager>;

export function identityOf({
  name,
  operation,
  apiVersion,
  subresource,
}: Omit<Manager, "set" | "time" | "read">): string {
  return JSON.stringify([name, operation, operation === "Apply" ? "" : apiVersion, subresource]);
}

/** Reads `managedFields`; undefined if there is something in them that cannot be. */
export function readManagers(entries: readonly unknown[] | undefined): Managers | undefined {
  const managers: Managers = new Map();
  for (const entry of entries ?? []) {
    const manager = readManager(entry);
    if (manager === undefined) return undefined;
    managers.set(identityOf(manager), manager);
  }
  return managers;
}

function readManager(entry: unknown): Manager | undefined {
  if (!isObject(entry)) return undefined;
  const { manager = "", operation, apiVersion, fieldsType, fieldsV1 = {}, subresource = "", time } = entry;
  if (operation !== "Apply" && operation !== "Update") return undefined;
  if (typeof apiVersion !== "string" || apiVersion === "" || fieldsType !== "FieldsV1") return undefined;
  if (typeof manager !== "string" || typeof subresource !== "string") return undefined;
  try {
    const fields = fieldsV1 ?? {};
    const set = fieldSetOf(fields);
    const read = { set, fields };
    return {
      name: manager,
      operation,
      apiVersion,
      subresource,
      time: typeof time === "string" ? time : undefined,
      set,
      read,
    };
  } catch {
    return undefined;
  }
}

/** `managedFields`, in the server's order; undefined if nobody manages anything. */
export function writeManagers(managers: Managers): unknown[] | undefined {
  if (managers.size === 0) return undefined;
  return [...managers.values()].sort(compareManagers).map((one) => ({
    ...(one.name !== "" && { manager: one.name }),
    operation: one.operation,
    apiVersion: one.apiVersion,
    ...(one.time !== undefined && { time: one.time }),
    fieldsType: "FieldsV1",
    fieldsV1: one.read?.set === one.set ? one.read.fields : one.set.toFields(),
    ...(one.subresource !== "" && { subresource: one.subresource }),
  }));
}

function compareManagers(one: Manager, other: Manager): number {
  const keys = ({ operation, time = "", name, apiVersion, subresource }: Manager) => [
    operation,
    time,
    name,
    apiVersion,
    subresource,
  ];
  const others = keys(other);
  for (const [index, key] of keys(one).entries()) {
    const against = others[index] ?? "";
    if (key !== against) return key < against ? -1 : 1;
  }
  return 0;
}

const MOST_UPDATERS = 10;
const ANCIENT = "ancient-changes";

/** Keeps the number of managers that update within bounds: the oldest ones become one. */
export function capUpdaters(managers: Managers): void {
  const updaters = [...managers.values()].filter(({ operation }) => operation === "Update");
  let count = updaters.length;
  const first = new Map<string, Manager>();
  /** What becomes one, by version: united at the end, for each union copies what is there already. */
  const ancients = new Map<string, { readonly sets: FieldSet[]; manager: Omit<Manager, "set"> }>();
  for (const updater of updaters.sort(compareManagers)) {
    if (count <= MOST_UPDATERS) break;
    const { apiVersion } = updater;
    const before = first.get(apiVersion);
    if (before === undefined) {
      first.set(apiVersion, updater);
      continue;
    }
    const manager = { name: ANCIENT, operation: "Update", apiVersion, subresource: "", time: updater.time } as const;
    const bucket = identityOf(manager);
    const known = ancients.get(bucket);
    const sets = known?.sets ?? [(managers.get(bucket) ?? before).set];
    sets.push(updater.set);
    ancients.set(bucket, { sets, manager });
    managers.delete(identityOf(before));
    managers.delete(identityOf(updater));
    managers.set(bucket, { ...manager, set: updater.set });
    count--;
  }
  for (const [bucket, { sets, manager }] of ancients) {
    if (managers.has(bucket)) managers.set(bucket, { ...manager, set: unionOf(sets) });
  }
}

/** In pairs, and pairs of pairs. */
function unionOf(sets: readonly FieldSet[]): FieldSet {
  if (sets.length <= 2) return sets.reduce((all, set) => set.union(all), new FieldSet());
  const half = sets.length >> 1;
  return unionOf(sets.slice(half)).union(unionOf(sets.slice(0, half)));
}

/** What nobody owns: the server's own fields. */
const OWN_FIELDS = new FieldSet(
  ["f:apiVersion", "f:kind", "f:metadata"],
  [
    [
      "f:metadata",
      new FieldSet(
        [
          "name",
          "namespace",
          "creationTimestamp",
          "selfLink",
          "uid",
          "clusterName",
          "generation",
          "managedFields",
          "resourceVersion",
        ].map((name) => `f:${name}`),
      ),
    ],
  ],
);

export function withoutOwnFields(set: FieldSet): FieldSet {
  return set.difference(OWN_FIELDS);
}
