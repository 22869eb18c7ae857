import type { Pod } from "@fjord/kube";

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const name = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const uid = /^[A-Za-z0-9][-A-Za-z0-9_.]{0,127}$/;

/**
 * What of a pod cannot be the name of a file: directories are made of these names. API servers check them, but a node that
 * runs as root does not stake its disk on that.
 */
export function strangeName({ metadata, spec }: Pod): string | undefined {
  const { initContainers = [], containers = [], ephemeralContainers = [], volumes = [] } = spec ?? {};
  const parts: [RegExp, unknown][] = [
    [uid, metadata.uid],
    [name, metadata.name],
    [label, metadata.namespace],
    ...[...initContainers, ...containers, ...ephemeralContainers].map((each): [RegExp, unknown] => [label, each?.name]),
    ...volumes.map((each): [RegExp, unknown] => [label, each?.name]),
  ];
  const strange = parts.find(([grammar, text]) => typeof text !== "string" || !grammar.test(text));
  return strange && String(strange[1]);
}
