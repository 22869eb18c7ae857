/** Where things are within the page. */
export function sitePath(name: string): string {
  return `/sites/${encodeURIComponent(name)}`;
}

export function workloadPath({ namespace, kind, name }: { namespace: string; kind: string; name: string }): string {
  return `/workloads/${[namespace, kind, name].map(encodeURIComponent).join("/")}`;
}
