import { isAlreadyExists, Namespace, ServiceAccount, watches } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { isNamespaceTerminating, Loop } from "../loop.ts";

/** Sees to it that every namespace has the service account `default`. */
export const serviceAccountController: ControlLoop = (means) => {
  const loop = new Loop(means, "service-account-controller");
  const namespaces = loop.open(Namespace);
  const accounts = loop.open(ServiceAccount);
  return loop.reconciles({
    sources: [
      watches(namespaces, { when: ({ type }) => type !== "delete" }),
      watches(accounts, {
        when: ({ type, object }) => type === "delete" && object.metadata.name === "default",
        map: ({ metadata }) => [{ name: metadata.namespace ?? "" }],
      }),
    ],
    async reconcile({ name: namespace }, { signal }) {
      const found = namespaces.get({ name: namespace });
      const isThere = accounts.get({ name: "default", namespace }) !== undefined;
      if (found === undefined || found.status?.phase === "Terminating" || isThere) return { type: "done" };
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } } as const;
      try {
        await means.client.create(ServiceAccount, account, { signal });
      } catch (error) {
        if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
      }
      return { type: "done" };
    },
  });
};
