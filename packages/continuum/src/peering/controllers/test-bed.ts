import { Contract, newObject, Peering, Site, type SpecDraftOf, VirtualNode } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import type { Kind, KubeObject } from "@fjord/base";
import { CustomResourceDefinition, getCondition, ifNotFound, KubeClient, Namespace } from "@fjord/kube";
import type { Bed } from "@fjord/testbed";
import { startTestBed } from "@fjord/testbed/testing";
import { SiteKey } from "../../identity/index.ts";
import { JumpingClock } from "../../test-jumping-clock.ts";
import { TestAgent, type TestAgentOptions } from "./test-agent.ts";

type Wire = NonNullable<TestAgentOptions["wire"]>;
interface Wires {
  readonly consumer?: Wire;
  readonly provider?: Wire;
}

/** Two sites with real APIs, whose agents can be killed and begun anew. */
export class TwoSites {
  readonly clock = new JumpingClock();
  /** By how many milliseconds the consumer's clock is ahead of the provider's. */
  consumerAhead = 0;
  readonly consumerClient: KubeClient;
  readonly providerClient: KubeClient;
  consumer: TestAgent;
  provider: TestAgent;
  readonly #bed: Bed;
  readonly #wires: Wires;
  readonly #keys: readonly [SiteKey, SiteKey];

  private constructor(bed: Bed, clients: [KubeClient, KubeClient], keys: [SiteKey, SiteKey], wires: Wires) {
    this.#wires = wires;
    this.#bed = bed;
    this.#keys = keys;
    [this.consumerClient, this.providerClient] = clients;
    this.consumer = this.#consumer();
    this.provider = this.#provider();
  }

  static async start(wires: Wires = {}): Promise<TwoSites> {
    const bed = await startTestBed({ sites: 2, components: "apiserver" });
    const [one, two] = bed.sites;
    if (one === undefined || two === undefined) throw new Error("two sites were asked for");
    const clients: [KubeClient, KubeClient] = [new KubeClient(one.config), new KubeClient(two.config)];
    await Promise.all(clients.map(installKinds));
    const keys: [SiteKey, SiteKey] = [await SiteKey.generate(), await SiteKey.generate()];
    const sites = new TwoSites(bed, clients, keys, wires);
    await Promise.all([sites.consumer.start(), sites.provider.start()]);
    const peer = (id: string, mayConsume: boolean) => ({ id, mayConsume });
    await sites.consumerClient.create(
      Site,
      newObject(Site, { metadata: { name: "prov" }, spec: peer(keys[1].id, false) }),
    );
    await sites.providerClient.create(
      Site,
      newObject(Site, { metadata: { name: "cons" }, spec: peer(keys[0].id, true) }),
    );
    return sites;
  }

  /** Lets namespaces go that are being deleted: these sites have no controller that would. */
  async finalizeNamespaces(): Promise<void> {
    const { items } = await this.providerClient.list(Namespace);
    for (const { metadata } of items.filter((each) => each.metadata.deletionTimestamp !== undefined)) {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: metadata.name }, spec: { finalizers: [] } };
      await this.providerClient.raw("PUT", `/api/v1/namespaces/${metadata.name}/finalize`, { body });
    }
  }

  /** What the provider shares from now on. */
  async share(sharing: SpecDraftOf<typeof Site>["sharing"] | null): Promise<void> {
    await until("the own Site exists", () => this.provider.own.object());
    const consumers = { accept: "Paired", sites: null };
    const wanted = sharing && { consumers, perConsumer: null, ...sharing };
    const patch = { spec: { sharing: wanted } };
    const patched = await this.providerClient.patch(Site, { name: "provider" }, "merge", patch);
    const { metadata } = patched;
    await until("the provider knows its policy", () => {
      return (this.provider.own.object()?.metadata.generation ?? 0) >= (metadata.generation ?? 0);
    });
  }

  async peer(name: string, spec: Partial<SpecDraftOf<typeof Peering>> = {}): Promise<Peering> {
    const resources = { cpu: 2, memory: "4Gi" };
    const draft = newObject(Peering, { metadata: { name }, spec: { site: "prov", resources, ...spec } });
    return await this.consumerClient.create(Peering, draft);
  }

  /** Milliseconds from the wish to the virtual node. */
  async timeToNode(name: string): Promise<number> {
    const began = Date.now();
    await this.peer(name);
    await until("there is a virtual node", () => look(this.consumerClient, VirtualNode, name));
    return Date.now() - began;
  }

  async agreed(name: string): Promise<Peering> {
    return await until(`${name} is agreed`, async () => {
      const found = await look(this.consumerClient, Peering, name);
      return getCondition(found?.status?.conditions, "Agreed")?.reason === "ContractActive" && found;
    });
  }

  async reason(name: string, type: "Paired" | "Agreed" | "Realised" | "Ready"): Promise<string | undefined> {
    return getCondition((await look(this.consumerClient, Peering, name))?.status?.conditions, type)?.reason;
  }

  /** Why the contract is over there, once it is. */
  async ended(client: KubeClient, contract: string): Promise<string> {
    return await until(`${contract} has ended`, async () => {
      const { status } = (await look(client, Contract, contract)) ?? {};
      return status?.phase === "Ended" && getCondition(status.conditions, "Ended")?.reason;
    });
  }

  /** Processors that the contract of a virtual node promises. */
  async cpuOf(node: string): Promise<string | number | undefined> {
    const found = await look(this.consumerClient, VirtualNode, node);
    return (await look(this.consumerClient, Contract, found?.spec.contract ?? "-"))?.spec.terms.resources.cpu;
  }

  /** What a peering says of its contract. */
  async agreement(name: string): Promise<string> {
    const peering = await look(this.consumerClient, Peering, name);
    return getCondition(peering?.status?.conditions, "Agreed")?.message ?? "";
  }

  async unpeer(name: string): Promise<void> {
    await this.consumerClient.delete(Peering, { name });
    await until(`${name} is gone`, async () => (await look(this.consumerClient, Peering, name)) === undefined);
  }

  /** Ends whatever a test has left. */
  async clear(): Promise<void> {
    const { items } = await this.consumerClient.list(Peering);
    for (const { metadata } of items) if (!metadata.deletionTimestamp) await this.unpeer(metadata.name ?? "");
    await until("no contract is in force", () => this.provider.book.of(this.consumer.id).length === 0);
    for (const { metadata } of (await this.providerClient.list(Contract)).items) {
      // Its own controller removes some of them meanwhile.
      await this.providerClient.delete(Contract, { name: metadata.name ?? "" }).catch(ifNotFound);
    }
    await until("the tenant is gone", async () => {
      await this.finalizeNamespaces();
      return (await look(this.providerClient, Namespace, `fjord-tenant-${this.consumer.id}`)) === undefined;
    });
  }

  /** Another process in the place of the consumer's agent, which may be mortal. */
  async killConsumer(client = this.consumerClient): Promise<void> {
    await this.consumer.kill();
    this.consumer = await this.#consumer(client).start();
  }

  async killProvider(client = this.providerClient): Promise<void> {
    await this.provider.kill();
    this.provider = await this.#provider(client).start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.consumer.kill(), this.provider.kill()]);
    await Promise.all([this.consumerClient.close(), this.providerClient.close()]);
    await this.#bed.stop();
  }

  #consumer(client = this.consumerClient): TestAgent {
    const peers = () => [this.provider];
    const wire = this.#wires.consumer;
    return new TestAgent({
      client,
      key: this.#keys[0],
      siteName: "consumer",
      clock: {
        now: () => this.clock.now() + this.consumerAhead,
        after: (ms, callback) => this.clock.after(ms, callback),
      },
      ...(wire && { wire }),
      peers,
    });
  }

  #provider(client = this.providerClient): TestAgent {
    const peers = () => [this.consumer];
    const wire = this.#wires.provider;
    return new TestAgent({
      client,
      key: this.#keys[1],
      siteName: "provider",
      clock: this.clock,
      ...(wire && { wire }),
      peers,
    });
  }
}

/** The object as it is now; undefined where there is none. */
export async function look<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  name: string,
): Promise<T | undefined> {
  return await client.get(kind, { name }).catch(ifNotFound);
}

/** Looks until the condition gives something; the name is for the failure. */
export async function until<T>(
  what: string,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const result = await condition();
    if (result !== undefined && result !== false) return result;
    if (Date.now() > deadline) throw new Error(`it did not come true that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function installKinds(client: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions()) {
    await client.apply(CustomResourceDefinition, definition, { fieldManager: "fjord-test" });
  }
  for (const { metadata } of customResourceDefinitions()) {
    await until(`${metadata.name} is served`, async () => {
      const { status } = await client.get(CustomResourceDefinition, { name: metadata.name ?? "" });
      return status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True");
    });
  }
}
