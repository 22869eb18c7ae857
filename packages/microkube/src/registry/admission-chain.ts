import type { AdmissionPlugin, AdmissionRequest } from "../admission/admission.ts";
import type { Operation, RegistryMeans } from "./operation.ts";

/** What admission is asked of an operation. */
export function admissionRequest(
  means: RegistryMeans,
  operation: Operation,
  of: Pick<AdmissionRequest, "operation" | "name" | "object" | "old">,
): AdmissionRequest {
  const { type, version, subresource, namespace, caller, options, dryRun } = operation;
  const scope = type.group === "" && type.plural === "namespaces" ? of.name : namespace;
  return {
    cluster: means.cluster,
    ...{ caller, type, version, subresource, options, dryRun },
    namespace: scope,
    ...of,
    warn: (text) => operation.warn(text),
  };
}

export async function mutate(plugins: readonly AdmissionPlugin[], request: AdmissionRequest): Promise<void> {
  for (const plugin of plugins) {
    const pending = plugin.mutate?.(request);
    if (pending !== undefined) await pending;
  }
}

/** Asks every plugin; gives what is to be called with whether the write came about. */
export async function validate(
  plugins: readonly AdmissionPlugin[],
  request: AdmissionRequest,
): Promise<(succeeded: boolean) => void> {
  const asked: AdmissionPlugin[] = [];
  const settle = (succeeded: boolean) => {
    for (const plugin of asked.splice(0)) plugin.settle?.(request, succeeded);
  };
  try {
    for (const plugin of plugins) {
      asked.push(plugin);
      const pending = plugin.validate?.(request);
      if (pending !== undefined) await pending;
    }
    return settle;
  } catch (error) {
    settle(false);
    throw error;
  }
}
