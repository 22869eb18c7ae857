import { type NamedHost, namedHost } from "../../cluster-names.ts";
import type { SiteId } from "../../site-identity.ts";
import type { TenantAddresses } from "../../tenant-addresses.ts";
import { forbidden } from "./kube-refusal.ts";

export interface ExternalNamesOptions {
  readonly isTwinOf: (consumer: SiteId, namespace: string) => boolean | Promise<boolean>;
  /** Whether the own cluster has a namespace of this name. */
  readonly hasNamespace: (name: string) => boolean;
  readonly addresses?: Pick<TenantAddresses, "outsideProblem">;
  /** Of the own cluster. @default those that clusters commonly have */
  readonly domains?: readonly string[];
}

/** Where Services of the type ExternalName lead: outside, or to the consumer's own Services here. */
export class ExternalNames {
  readonly #options: ExternalNamesOptions;

  constructor(options: ExternalNamesOptions) {
    this.#options = options;
  }

  /** Throws `KubeRefusal` for a name that leads to what is the provider's own, or another consumer's. */
  async admit(consumer: SiteId, names: readonly string[]): Promise<void> {
    for (const name of names) {
      const problem = await this.#problem(consumer, namedHost(name, this.#options.domains));
      if (problem !== undefined) throw forbidden(`spec.externalName ${name.slice(0, 253)} ${problem}`);
    }
  }

  async #problem(consumer: SiteId, host: NamedHost): Promise<string | undefined> {
    const { isTwinOf, hasNamespace, addresses } = this.#options;
    switch (host.sort) {
      case "Inside":
        return "has a meaning within the provider's cluster alone: name a host outside, or a Service of a namespace of yours";
      case "Address": {
        const problem = addresses?.outsideProblem(consumer, host.address);
        return problem && `cannot be led to: ${problem}`;
      }
      case "Service":
        return (await isTwinOf(consumer, host.namespace)) ? undefined : anothers(host.namespace);
      case "Outside": {
        const { namespace } = host;
        if (namespace === undefined || !hasNamespace(namespace)) return undefined;
        return (await isTwinOf(consumer, namespace)) ? undefined : anothers(namespace);
      }
    }
  }
}

function anothers(namespace: string): string {
  return `is a Service of the namespace ${namespace}, which is none of yours at the provider`;
}
