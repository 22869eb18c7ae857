import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { OFFLOADED_LABEL } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import {
  EventRecorder,
  KubeClient,
  Manager,
  MutatingWebhookConfiguration,
  Namespace,
  Pod,
  Secret,
  ServiceAccount,
  SharedCaches,
} from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import type { Home } from "../../home.ts";
import { eventually } from "../namespace/test-eventually.ts";
import { AdmissionConfiguration } from "./admission-configuration.ts";
import { AdmissionServer } from "./admission-server.ts";
import { type CertificateChain, newPair } from "./certificate-chain.ts";
import { ADMISSION_SECRET, chainOf, forgeSecret, loadChain } from "./certificate-secret.ts";
import { removeWebhookConfiguration } from "./webhook-configuration.ts";

const AGENTS = "agents";
const ADDRESS = "127.0.0.1";

describe("the configuration of admission", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  let site: SharedTestSite;
  let client: KubeClient;
  const stops: (() => Promise<void>)[] = [];
  let asked = 0;
  const words: string[] = [];

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config, { closeGraceMs: 1_000 });
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: AGENTS } });
    const labels = { [OFFLOADED_LABEL]: "true" };
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels } });
    const account = { name: "default", namespace: "shop" };
    await client.create(ServiceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata: account });
  });

  after(async () => {
    for (const stop of stops) await stop();
    await client?.close();
  });

  /** One agent's part in it. Only one of them writes, as if it led. */
  const startAgent = async (leads: boolean, port: number) => {
    const logger = { ...silentLogger, info: (message: string) => void words.push(message) };
    const means = { clock: systemClock, random: Math.random, logger };
    const caches = new SharedCaches({ ...means, client });
    const recorder = new EventRecorder({ ...means, client, component: "test" });
    const identity = { id: "a".repeat(26), publicKey: "", sign: () => "" };
    const home: Home = { ...means, client, identity, caches, recorder, namespace: AGENTS };
    const { current } = await loadChain(client, AGENTS, [ADDRESS], Date.now(), AbortSignal.timeout(60_000));
    const server = new AdmissionServer({
      host: ADDRESS,
      port,
      tls: current,
      logger: silentLogger,
      // Each time the certificate is looked at.
      requestsPerConnection: leads ? 1 : 0,
      reviews: {
        "/admission/pods": () => {
          asked++;
          return { allowed: true };
        },
      },
    });
    await server.listen();
    const url = `https://${ADDRESS}:${server.address.port}`;
    const configuration = new AdmissionConfiguration({ home, client: { url }, names: [ADDRESS], settleMs: 3_000 });
    configuration.onPair((pair) => server.use(pair));
    const manager = new Manager({ ...means, gracePeriodMs: 0 }).addCache(caches).add(server);
    if (leads) manager.add(configuration);
    const stop = new AbortController();
    const run = manager.run(stop.signal);
    stops.push(async () => {
      stop.abort();
      await run;
    });
    return server;
  };
  const makePod = () =>
    client.create(
      Pod,
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { generateName: "web-", namespace: "shop" },
        spec: { containers: [{ name: "main", image: "busybox" }] },
      },
      { dryRun: true },
    );
  const chain = async () => chainOf(await client.get(Secret, { name: ADMISSION_SECRET, namespace: AGENTS }));

  it("is believed from its first moment through the renewal of its certificate, by whoever is asked anew", async () => {
    // An hour and ten minutes long, of which ten minutes are left.
    const old: CertificateChain = { current: await newPair([ADDRESS], Date.now(), 600_000) };
    await client.create(Secret, forgeSecret(AGENTS, old));
    await startAgent(true, 0);
    await eventually(async () => {
      const before = asked;
      await makePod();
      return asked > before;
    });
    await eventually(async () => (await chain())?.next !== undefined);
    let pods = 0;
    while ((await chain())?.next !== undefined || pods < 20) {
      await makePod();
      pods++;
    }
    for (let more = 0; more < 5; more++) await makePod();
    const now = await chain();
    assert.notEqual(now?.current.cert, old.current.cert);
    assert.equal(now?.previous, old.current.cert);
    assert.ok(new X509Certificate(now?.current.cert ?? "").validToDate.getTime() > Date.now() + 300 * 24 * 3_600_000);
  });

  it("is shared by agents that start later", async () => {
    const before = await chain();
    await startAgent(false, 0);
    assert.deepEqual(await chain(), before);
  });

  it("is not made again by an agent that goes on while Fjord is uninstalled", async () => {
    await client.delete(Namespace, { name: AGENTS });
    words.length = 0;
    await removeWebhookConfiguration(client);
    await eventually(async () => words.some((word) => /the agent's namespace is being removed/.test(word)));
    assert.equal((await client.list(MutatingWebhookConfiguration)).items.length, 0);
  });

  it("is taken away without a trace", async () => {
    await stops.shift()?.();
    await removeWebhookConfiguration(client);
    assert.equal((await client.list(MutatingWebhookConfiguration)).items.length, 0);
    await removeWebhookConfiguration(client);
  });
});
