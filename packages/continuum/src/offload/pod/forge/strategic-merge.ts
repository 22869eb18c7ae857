/** By which field Kubernetes tells the items of these lists of a pod apart; all other lists are replaced as a whole. */
const mergeKeys: Readonly<Record<string, string>> = {
  containers: "name",
  initContainers: "name",
  ephemeralContainers: "name",
  env: "name",
  ports: "containerPort",
  volumeMounts: "mountPath",
  volumeDevices: "devicePath",
  volumes: "name",
  imagePullSecrets: "name",
  hostAliases: "ip",
  topologySpreadConstraints: "topologyKey",
  resourceClaims: "name",
};

type Fields = Readonly<Record<string, unknown>>;

/** Kubernetes' strategic merge for pods, with `$patch: delete` and `$patch: replace`; null takes a field away. */
export function strategicMerge<T>(original: T, patch: unknown): T {
  return mergeObject(original as unknown as Fields, patch as Fields) as T;
}

function mergeObject(original: Fields, patch: Fields): Fields {
  const { $patch: directive, ...changes } = patch;
  if (directive === "replace") return changes;
  const merged: Record<string, unknown> = { ...original };
  for (const [name, change] of Object.entries(changes)) {
    if (name === "__proto__" || name.startsWith("$")) continue;
    if (change === null) delete merged[name];
    else merged[name] = mergeValue(name, merged[name], change);
  }
  return merged;
}

function mergeValue(name: string, original: unknown, change: unknown): unknown {
  const key = mergeKeys[name];
  if (Array.isArray(change)) return key === undefined ? change : mergeList(key, original, change);
  if (isFields(change)) return mergeObject(isFields(original) ? original : {}, change);
  return change;
}

function mergeList(key: string, original: unknown, changes: readonly unknown[]): unknown[] {
  const items = changes.filter(isFields);
  const isWhole = items.some((item) => item.$patch === "replace" && item[key] === undefined);
  const merged = isWhole || !Array.isArray(original) ? [] : [...original];
  for (const item of items) {
    if (item[key] === undefined) continue;
    const index = merged.findIndex((each) => isFields(each) && each[key] === item[key]);
    if (item.$patch === "delete") {
      if (index >= 0) merged.splice(index, 1);
    } else if (index >= 0) merged[index] = mergeObject(merged[index] as Fields, item);
    else merged.push(mergeObject({}, item));
  }
  return merged;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
