/** Where things are within the page. */
export function sitePath(name: string): string {
  return `/sites/${encodeURIComponent(name)}`;
}

/** A part of an address as it was meant; what nobody can have meant stays what it is. */
export function partOfPath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function workloadPath({ namespace, kind, name }: { namespace: string; kind: string; name: string }): string {
  return `/workloads/${[namespace, kind, name].map(encodeURIComponent).join("/")}`;
}
