type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const impersonation = /^impersonate-/i;

/**
 * Later headers replace earlier ones whatever the case of their names. Whoever names one impersonation header replaces
 * all of them: half of one identity and half of another is an identity that nobody meant.
 */
export function mergeHeaders(...layers: (Headers | undefined)[]): Record<string, string | string[]> {
  const merged = new Map<string, [name: string, value: string | string[]]>();
  for (const layer of layers) {
    const given = Object.entries(layer ?? {}).filter(([, value]) => value !== undefined);
    if (given.some(([name]) => isImpersonation(name))) {
      for (const key of merged.keys()) if (isImpersonation(key)) merged.delete(key);
    }
    for (const [name, value] of given) merged.set(name.toLowerCase(), [name, value as string | string[]]);
  }
  return Object.fromEntries(merged.values());
}

export function isImpersonation(headerName: string): boolean {
  return impersonation.test(headerName);
}
