import type { KubeObject } from "@fjord/base";
import type { MutatingWebhookConfiguration } from "@fjord/kube";
import type { Cluster } from "../../cluster.ts";
import { typeOf } from "../../cluster-objects.ts";
import type { Webhook } from "./webhook.ts";

/** The webhooks of one kind of configuration, in the order in which they are called: by configuration's name. */
export class WebhookSource {
  readonly #configurations = new Map<string, KubeObject>();
  #webhooks: readonly Webhook[] = [];

  get webhooks(): readonly Webhook[] {
    return this.#webhooks;
  }

  /** Follows the cluster from now on; returns what ends it. */
  follow(cluster: Cluster, kind: "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"): () => void {
    return cluster.follow(typeOf(cluster, "admissionregistration.k8s.io", kind), ({ type, object }) => {
      const { name = "" } = object.metadata;
      if (type === "DELETED") this.#configurations.delete(name);
      else this.#configurations.set(name, object);
      const names = [...this.#configurations.keys()].sort();
      this.#webhooks = names.flatMap((one) => hooksOf(this.#configurations.get(one)));
    });
  }
}

function hooksOf(configuration: KubeObject | undefined): Webhook[] {
  const { webhooks = [], metadata } = configuration as MutatingWebhookConfiguration;
  return webhooks.map((hook, index) => ({ id: `${metadata.name}/${index}`, hook }));
}
