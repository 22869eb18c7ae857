import { ConfigMap, isAlreadyExists, Namespace, watches } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { isNamespaceTerminating, Loop } from "../loop.ts";
import { sameValue } from "../same-value.ts";
import { writeFields } from "../status-writer.ts";

export const ROOT_CA_NAME = "kube-root-ca.crt";
const DESCRIPTION = "kubernetes.io/description";
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " +
  "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes " +
  "clusters.";

/** Gives every namespace the ConfigMap by which its pods trust the API server. */
export function rootCaController(rootCa: string): ControlLoop {
  return (means) => {
    const loop = new Loop(means, "root-ca-certificate-publisher-controller");
    const namespaces = loop.open(Namespace);
    // Those alone: all ConfigMaps of a cluster would fill the memory.
    const maps = loop.open(ConfigMap, {}, { fieldSelector: `metadata.name=${ROOT_CA_NAME}` });
    const data = { "ca.crt": rootCa };
    return loop.reconciles({
      sources: [
        watches(namespaces, { when: ({ type }) => type !== "delete" }),
        watches(maps, ({ metadata }) => [{ name: metadata.namespace ?? "" }]),
      ],
      async reconcile({ name: namespace }, { signal }) {
        const owner = namespaces.get({ name: namespace });
        if (owner === undefined || owner.status?.phase === "Terminating") return { type: "done" };
        const found = maps.get({ name: ROOT_CA_NAME, namespace });
        const annotations = { [DESCRIPTION]: description };
        if (found === undefined) {
          const metadata = { name: ROOT_CA_NAME, namespace, annotations };
          try {
            await means.client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data }, { signal });
          } catch (error) {
            if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
          }
          return { type: "done" };
        }
        if (sameValue(found.data, data) && found.metadata.annotations?.[DESCRIPTION] === description) {
          return { type: "done" };
        }
        const others = Object.fromEntries(Object.keys(found.data ?? {}).map((name) => [name, null]));
        await writeFields(
          means.client,
          ConfigMap,
          found,
          { metadata: { annotations }, data: { ...others, ...data } },
          signal,
        );
        return { type: "done" };
      },
    });
  };
}
