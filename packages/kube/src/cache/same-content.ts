/**
 * Whether two JSON values are the same; a field that is undefined counts as absent. It keeps its own stack: servers take
 * objects that are ten thousand levels deep, and one such object must not stop a cache.
 */
export function sameContent(a: unknown, b: unknown): boolean {
  const left: unknown[] = [a];
  const right: unknown[] = [b];
  while (left.length > 0) {
    const one = left.pop();
    const other = right.pop();
    if (one === other) continue;
    if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
    if (Array.isArray(one) !== Array.isArray(other)) return false;
    if (Array.isArray(one) && one.length !== (other as unknown[]).length) return false;
    const fields = one as Record<string, unknown>;
    const others = other as Record<string, unknown>;
    for (const name in fields) {
      left.push(fields[name]);
      right.push(others[name]);
    }
    for (const name in others) if (others[name] !== undefined && fields[name] === undefined) return false;
  }
  return true;
}
