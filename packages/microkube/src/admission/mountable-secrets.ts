import type { Pod, ServiceAccount } from "@fjord/kube";

type Container = NonNullable<Pod["spec"]>["containers"][number];

/** What a pod refers to beyond what its account may, where the account is kept to its own secrets. */
export function mountableProblem(account: ServiceAccount, pod: Pod, which: "own" | "ephemeral"): string | undefined {
  const enforced = account.metadata.annotations?.["kubernetes.io/enforce-mountable-secrets"] ?? "";
  if (!/^(1|t|T|TRUE|true|True)$/.test(enforced)) return undefined;
  const { spec } = pod;
  const secrets = new Set((account.secrets ?? []).map(({ name }) => name));
  const ending = `is not allowed because service account ${account.metadata.name} does not reference that`;
  if (which === "ephemeral") {
    return containersProblem("ephemeral container", (spec?.ephemeralContainers ?? []) as Container[], secrets, ending);
  }
  for (const { secret } of spec?.volumes ?? []) {
    if (secret === undefined || secrets.has(secret.secretName)) continue;
    return `volume with secret.secretName="${secret.secretName}" ${ending} secret`;
  }
  const inContainers =
    containersProblem("init container", spec?.initContainers ?? [], secrets, ending) ??
    containersProblem("container", spec?.containers ?? [], secrets, ending);
  if (inContainers !== undefined) return inContainers;
  const pulls = (account.imagePullSecrets ?? []).map(({ name }) => name);
  const index = (spec?.imagePullSecrets ?? []).findIndex(({ name }) => !pulls.includes(name));
  if (index === -1) return undefined;
  return `imagePullSecrets[${index}].name="${spec?.imagePullSecrets?.[index]?.name}" ${ending} imagePullSecret`;
}

function containersProblem(
  what: string,
  containers: readonly Container[],
  secrets: ReadonlySet<string | undefined>,
  ending: string,
): string | undefined {
  for (const { name, env = [], envFrom = [] } of containers) {
    for (const { name: variable, valueFrom } of env) {
      const secret = valueFrom?.secretKeyRef?.name;
      if (secret === undefined || secrets.has(secret)) continue;
      return `${what} ${name} with envVar ${variable} referencing secret.secretName="${secret}" ${ending} secret`;
    }
    for (const { secretRef } of envFrom) {
      if (secretRef?.name === undefined || secrets.has(secretRef.name)) continue;
      return `${what} ${name} with envFrom referencing secret.secretName="${secretRef.name}" ${ending} secret`;
    }
  }
  return undefined;
}
