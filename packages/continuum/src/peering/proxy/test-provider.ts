import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AddressPlan, CONSUMER_LABEL, ORIGIN_NAMESPACE_LABEL, ShadowPod, TwinNamespace } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import {
  ClusterRole,
  ConfigMap,
  CustomResourceDefinition,
  KubeClient,
  Namespace,
  RoleBinding,
  Secret,
  ServiceAccount,
  SharedCaches,
} from "@fjord/kube";
import type { Site as BedSite } from "@fjord/testbed";
import type { PeerRoute, RawRoute } from "../../peer-routes.ts";
import { LiveRemoteSites, type LiveRemoteSitesOptions } from "../remote/live-remote-sites.ts";
import { PeerServer } from "../server/peer-server.ts";
import { siteRoute } from "../server/site-route.ts";
import { means, siteObject, testSite } from "../server/test-sites.ts";
import { forgeClusterRole, TENANT_CLUSTER_ROLE, tenantOf } from "../tenant/tenant-forge.ts";
import { makeTenant } from "../tenant/tenant-objects.ts";
import { ParkedConnections } from "../tunnel/parked-connections.ts";
import { TunnelDialler } from "../tunnel/tunnel-dialler.ts";
import type { AuditLine } from "./audit.ts";
import { KubeProxy, type KubeProxyOptions } from "./kube-proxy.ts";
import { TestSites, TestTenants } from "./test-tenants.ts";
import { TwinNamespaces } from "./twin-namespaces.ts";

type TestSite = Awaited<ReturnType<typeof testSite>>;

/** A provider's API with two tenants, each with a twin namespace, and the proxy before it. */
export class TestProvider implements AsyncDisposable {
  readonly bed: BedSite;
  readonly client: KubeClient;
  readonly site: TestSite;
  readonly consumer: TestSite;
  readonly rival: TestSite;
  readonly tenants = new TestTenants();
  readonly sites = new TestSites();
  readonly lines: AuditLine[] = [];
  readonly proxy: KubeProxy;
  readonly server: PeerServer;
  readonly stop = new AbortController();
  readonly runs: Promise<unknown>[] = [];
  port = 0;

  static async start(
    bed: BedSite,
    options: Partial<KubeProxyOptions> = {},
    tls: Parameters<typeof testSite>[0] = {},
  ): Promise<TestProvider> {
    const [site, consumer, rival] = await Promise.all([testSite(tls), testSite(tls), testSite(tls)]);
    const provider = new TestProvider(bed, { site, consumer, rival }, options);
    await provider.#prepare();
    provider.port = (await provider.server.listen())?.port ?? 0;
    provider.runs.push(provider.server.run(provider.stop.signal));
    for (const each of [site, consumer]) provider.runs.push(each.tls.run(provider.stop.signal));
    return provider;
  }

  private constructor(
    bed: BedSite,
    { site, consumer, rival }: { site: TestSite; consumer: TestSite; rival: TestSite },
    options: Partial<KubeProxyOptions>,
  ) {
    this.bed = bed;
    this.client = new KubeClient(bed.config);
    this.site = site;
    this.consumer = consumer;
    this.rival = rival;
    const caches = new SharedCaches({ ...means, client: this.client });
    const twins = new TwinNamespaces({ caches, client: this.client, clock: means.clock });
    this.runs.push(caches.run(this.stop.signal));
    this.proxy = new KubeProxy({
      ...means,
      config: bed.config,
      tenants: this.tenants,
      isTwinOf: (id, namespace) => twins.isTwinOf(id, namespace),
      audit: (line) => void this.lines.push(line),
      ...options,
    });
    this.server = new PeerServer({
      ...means,
      tls: site.tls,
      siteOf: this.sites.get,
      routes: [reportRoute(site.id)],
      rawRoutes: [this.proxy],
      host: "127.0.0.1",
      port: 0,
    });
    for (const { id } of [consumer, rival]) {
      this.sites.set(siteObject(id, { mayConsume: true }));
      this.tenants.set(id, true);
    }
  }

  get endpoint(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  twinOf(site: TestSite): string {
    return `shop-${site.id}`;
  }

  /** The consumer's view, either dialled or by connections that the provider parks with it. */
  async consume(
    way: "dialled" | "tunnelled",
    options: Partial<LiveRemoteSitesOptions> = {},
    expose: Expose = async (target) => target,
  ): Promise<TestConsumer> {
    return await TestConsumer.start(this, way, options, expose);
  }

  async #prepare(): Promise<void> {
    await installKinds(this.client);
    await this.client.apply(ClusterRole, forgeClusterRole(undefined), { fieldManager: "fjord-test", force: true });
    for (const { id } of [this.consumer, this.rival]) await makeTenant(this.client, id);
    for (const site of [this.consumer, this.rival]) await this.#twin(site);
    await this.#fill("default", {});
  }

  async #twin(site: TestSite): Promise<void> {
    const name = this.twinOf(site);
    const labels = { [CONSUMER_LABEL]: site.id, [ORIGIN_NAMESPACE_LABEL]: "shop" };
    await this.client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
    const { namespace } = tenantOf(site.id);
    await this.client.create(RoleBinding, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "fjord-tenant", namespace: name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: TENANT_CLUSTER_ROLE },
      subjects: [{ kind: "ServiceAccount", name: "consumer", namespace }],
    });
    await this.#fill(name, { [CONSUMER_LABEL]: site.id });
  }

  async #fill(namespace: string, labels: Record<string, string>): Promise<void> {
    const metadata = { name: "treasure", namespace, labels };
    const options = { fieldManager: "fjord-test" };
    const stringData = { who: namespace };
    await this.client.apply(Secret, { apiVersion: "v1", kind: "Secret", metadata, stringData }, options);
    await this.client.apply(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data: stringData }, options);
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } } as const;
    await this.client.apply(ServiceAccount, account, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort();
    this.proxy.close();
    await Promise.all(this.runs);
    await this.client.close();
  }
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where an address is reached from the other side. */
export type Expose = (target: Address) => Promise<Address>;

export class TestConsumer implements AsyncDisposable {
  readonly provider: TestProvider;
  readonly parked: ParkedConnections;
  readonly remotes: LiveRemoteSites;
  readonly sites = new TestSites();
  readonly #stop = new AbortController();
  readonly #runs: Promise<unknown>[] = [];

  static async start(
    provider: TestProvider,
    way: "dialled" | "tunnelled",
    options: Partial<LiveRemoteSitesOptions>,
    expose: Expose,
  ): Promise<TestConsumer> {
    const parked = new ParkedConnections({ clock: means.clock });
    const consumer = new TestConsumer(provider, parked, options);
    const endpoint = async (port: number) => {
      const address = await expose({ host: "127.0.0.1", port });
      return `https://${address.host}:${address.port}`;
    };
    const endpoints = way === "dialled" ? [await endpoint(provider.port)] : [];
    if (way === "tunnelled") await consumer.#invite(parked, endpoint);
    consumer.sites.set(siteObject(provider.site.id, { endpoints }));
    return consumer;
  }

  private constructor(provider: TestProvider, parked: ParkedConnections, options: Partial<LiveRemoteSitesOptions>) {
    this.provider = provider;
    this.parked = parked;
    const { tls } = provider.consumer;
    this.remotes = new LiveRemoteSites({ ...means, sites: this.sites, tls, parked, ...options });
    this.#runs.push(this.remotes.run(this.#stop.signal));
  }

  get remote() {
    const remote = this.remotes.get(this.provider.site.id);
    if (remote === undefined) throw new Error("the provider is not known");
    return remote;
  }

  /** A server of the consumer's for the provider to park connections at. */
  async #invite(parked: RawRoute, endpointOf: (port: number) => Promise<string>): Promise<void> {
    const { provider } = this;
    const server = new PeerServer({
      ...means,
      tls: provider.consumer.tls,
      siteOf: this.sites.get,
      routes: [],
      rawRoutes: [parked],
      host: "127.0.0.1",
      port: 0,
    });
    const endpoint = await endpointOf((await server.listen())?.port ?? 0);
    this.#runs.push(server.run(this.#stop.signal));
    const dialler = new TunnelDialler({
      ...means,
      tls: provider.site.tls,
      peers: () => [{ id: provider.consumer.id, endpoints: [endpoint] }],
      onPeersChange: () => () => {},
      serve: (socket, caller) => provider.server.serve(socket, caller),
    });
    this.#runs.push(dialler.run(this.#stop.signal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#runs);
  }
}

export function reportRoute(id: string): PeerRoute {
  return siteRoute({
    id,
    published: () => ({ name: "lively-wave" }),
    endpoints: () => [],
    contractsOf: () => [],
  });
}

/** Has the API server write down each request, and gives what it wrote. */
export async function auditApiServer(bed: BedSite): Promise<() => Promise<Record<string, unknown>[]>> {
  const [policy, log] = ["audit-policy.yaml", "audit.log"].map((name) => join(bed.kubeconfig, "..", name)) as [
    string,
    string,
  ];
  await writeFile(
    policy,
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived, ResponseStarted]\nrules:\n- level: Metadata\n",
  );
  const running = bed.process("kube-apiserver");
  const { name, file, args } = running.record;
  await running.stop();
  bed.removeProcess(name);
  const flags = [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, "--audit-log-mode=blocking"];
  await bed.addProcess({ name, file, args: [...args, ...flags] }).start();
  await bed.ready();
  return async () => {
    const text = await readFile(log, "utf8");
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  };
}

export async function installKinds(client: KubeClient): Promise<void> {
  const wanted = [ShadowPod.plural, TwinNamespace.plural, AddressPlan.plural];
  const definitions = customResourceDefinitions().filter(({ spec }) => wanted.includes(spec.names.plural as never));
  await Promise.all(
    definitions.map(async (definition) => {
      await client.apply(CustomResourceDefinition, definition, { fieldManager: "fjord-test" });
      const fieldSelector = `metadata.name=${definition.metadata.name}`;
      for await (const { object } of client.watch(CustomResourceDefinition, { fieldSelector })) {
        const conditions = "status" in object ? (object.status?.conditions ?? []) : [];
        if (conditions.some(({ type, status }) => type === "Established" && status === "True")) break;
      }
    }),
  );
}
