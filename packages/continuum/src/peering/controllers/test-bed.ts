import { newObject, Peering, Site, type SpecDraftOf } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import type { Kind, KubeObject } from "@fjord/base";
import { CustomResourceDefinition, isNotFound, KubeClient } from "@fjord/kube";
import type { Bed } from "@fjord/testbed";
import { startTestBed } from "@fjord/testbed/testing";
import { SiteKey } from "../../identity/site-key.ts";
import { TestAgent } from "./test-agent.ts";
import { JumpingClock } from "./test-jumping-clock.ts";

/** Two sites with real APIs, whose agents can be killed and begun anew. */
export class TwoSites {
  readonly clock = new JumpingClock();
  readonly consumerClient: KubeClient;
  readonly providerClient: KubeClient;
  consumer: TestAgent;
  provider: TestAgent;
  readonly #bed: Bed;
  readonly #keys: readonly [SiteKey, SiteKey];

  private constructor(bed: Bed, clients: [KubeClient, KubeClient], keys: [SiteKey, SiteKey]) {
    this.#bed = bed;
    this.#keys = keys;
    [this.consumerClient, this.providerClient] = clients;
    this.consumer = this.#consumer();
    this.provider = this.#provider();
  }

  static async start(): Promise<TwoSites> {
    const bed = await startTestBed({ sites: 2, components: "apiserver" });
    const [one, two] = bed.sites;
    if (one === undefined || two === undefined) throw new Error("two sites were asked for");
    const clients: [KubeClient, KubeClient] = [new KubeClient(one.config), new KubeClient(two.config)];
    await Promise.all(clients.map(installKinds));
    const keys: [SiteKey, SiteKey] = [await SiteKey.generate(), await SiteKey.generate()];
    const sites = new TwoSites(bed, clients, keys);
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

  /** What the provider shares from now on. */
  async share(sharing: SpecDraftOf<typeof Site>["sharing"] | null): Promise<void> {
    await until("the own Site exists", () => this.provider.own.object());
    await this.providerClient.patch(Site, { name: "provider" }, "merge", { spec: { sharing } });
    const wanted = JSON.stringify(Object.keys(sharing?.resources ?? {}));
    await until("the provider knows its policy", () => {
      const site = this.provider.own.object()?.spec.sharing;
      return JSON.stringify(Object.keys(site?.resources ?? {})) === wanted && (sharing === null || site !== undefined);
    });
  }

  async peer(name: string, spec: Partial<SpecDraftOf<typeof Peering>> = {}): Promise<Peering> {
    const resources = { cpu: 2, memory: "4Gi" };
    const draft = newObject(Peering, { metadata: { name }, spec: { site: "prov", resources, ...spec } });
    return await this.consumerClient.create(Peering, draft);
  }

  async killConsumer(): Promise<void> {
    await this.consumer.kill();
    this.consumer = await this.#consumer().start();
  }

  async killProvider(): Promise<void> {
    await this.provider.kill();
    this.provider = await this.#provider().start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.consumer.kill(), this.provider.kill()]);
    await Promise.all([this.consumerClient.close(), this.providerClient.close()]);
    await this.#bed.stop();
  }

  #consumer(): TestAgent {
    const peers = () => [this.provider];
    return new TestAgent({
      client: this.consumerClient,
      key: this.#keys[0],
      siteName: "consumer",
      clock: this.clock,
      peers,
    });
  }

  #provider(): TestAgent {
    const peers = () => [this.consumer];
    return new TestAgent({
      client: this.providerClient,
      key: this.#keys[1],
      siteName: "provider",
      clock: this.clock,
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
  return await client.get(kind, { name }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
}

/** Looks until the condition gives something; the name is for the failure. */
export async function until<T>(
  what: string,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 10_000,
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
