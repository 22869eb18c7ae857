/**
 * The order of two resource versions: negative when `a` is older. Undefined when either is not a decimal number, as
 * servers other than Kubernetes' own may do: then nothing can be said.
 */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether `version` is surely not newer than `than`. */
export function isNotNewer(version: string, than: string): boolean {
  const order = compareResourceVersions(version, than);
  return order !== undefined && order <= 0;
}

const decimal = /^(0|[1-9][0-9]*)$/;
