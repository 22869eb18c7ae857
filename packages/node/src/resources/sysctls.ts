import { type Pod, safeSysctls } from "@fjord/kube";

/** The first kernel setting that the pod asks for and the node does not allow; `allowed` may end in an asterisk. */
export function forbiddenSysctl(pod: Pod, allowed: readonly string[] = []): string | undefined {
  const names = (pod.spec?.securityContext?.sysctls ?? []).map(({ name }) => name.replaceAll("/", "."));
  return names.find((name) => !safeSysctls.includes(name) && !allowed.some((pattern) => covers(pattern, name)));
}

function covers(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}
