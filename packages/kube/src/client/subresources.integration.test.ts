import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Authority } from "@fjord/testbed";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { type KubernetesMinor, kubernetesSkip } from "@fjord/testbed/testing";
import { Node, Pod, PodDisruptionBudget, SelfSubjectReview, ServiceAccount, TokenReview } from "../kinds/index.ts";
import { type Answer, type TestServer, testServer, until } from "../transport/test-server.ts";
import * as errors from "./api-error.ts";
import { KubeClient } from "./client.ts";

for (const kubernetes of ["1.36", "1.35"] satisfies KubernetesMinor[]) {
  describe(`subresources in Kubernetes ${kubernetes}`, { skip: kubernetesSkip(kubernetes) }, () => tests(kubernetes));
}

function tests(kubernetes: KubernetesMinor): void {
  let site: SharedTestSite;
  let client: KubeClient;
  let kubelet: TestServer;
  let answer: Answer;

  before(async () => {
    [site, kubelet] = await Promise.all([
      sharedTestSite({ kubernetes }),
      kubeletStandIn((request, response, index) => answer(request, response, index)),
    ]);
    client = new KubeClient(site.config);
    const name = "default";
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } } as const;
    await client.apply(ServiceAccount, account, { fieldManager: "test" });
    await client.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
    const daemonEndpoints = { kubeletEndpoint: { Port: kubelet.port } };
    const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
    await client.patch(
      Node,
      { name: "n1" },
      "merge",
      { status: { addresses, daemonEndpoints } },
      { subresource: "status" },
    );
  });
  after(async () => {
    await client?.close();
    await kubelet?.[Symbol.asyncDispose]();
  });

  async function pod(name: string, nodeName?: string): Promise<Pod> {
    const spec = { containers: [{ name: "main", image: "busybox" }], nodeName };
    const metadata = { name, labels: { app: name } };
    return await client.create(Pod, { apiVersion: "v1", kind: "Pod", metadata, spec });
  }

  test("binds a pod to a node, once", async () => {
    await pod("bound");
    await client.bind({ name: "bound" }, "n1");
    assert.equal((await client.get(Pod, { name: "bound" })).spec?.nodeName, "n1");
    await assert.rejects(client.bind({ name: "bound" }, "n2"), (error) => {
      assert.ok(errors.isConflict(error));
      assert.match(error.message, /^cannot bind Pod default\/bound to Node n2: /);
      return true;
    });
  });

  test("evicts a pod, unless its budget forbids", async () => {
    const { metadata } = await pod("guarded", "n1");
    const conditions = [{ type: "Ready", status: "True" }];
    const running = { status: { phase: "Running", conditions } };
    await client.patch(Pod, { name: "guarded" }, "merge", running, { subresource: "status" });
    const selector = { matchLabels: { app: "guarded" } };
    const budget = await client.create(PodDisruptionBudget, {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "guard" },
      spec: { minAvailable: 1, selector },
    });
    const counts = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
    const current = await client.updateStatus(PodDisruptionBudget, {
      ...budget,
      status: { observedGeneration: 1, ...counts },
    });
    await assert.rejects(client.evict({ name: "guarded" }), (error) => {
      assert.ok(errors.isTooManyRequests(error));
      assert.equal(error.details.causes?.[0]?.reason, "DisruptionBudget");
      return true;
    });
    const allowed = { observedGeneration: 1, ...counts, disruptionsAllowed: 2, currentHealthy: 3 };
    await client.updateStatus(PodDisruptionBudget, { ...current, status: allowed });
    await assert.rejects(client.evict({ name: "guarded" }, { preconditions: { uid: "other" } }), errors.isConflict);
    await client.evict({ name: "guarded" }, { preconditions: { uid: metadata.uid }, gracePeriodSeconds: 0 });
    await assert.rejects(client.get(Pod, { name: "guarded" }), errors.isNotFound);
  });

  test("adds an ephemeral container to a running pod", async () => {
    const created = await pod("debugged", "n1");
    const ephemeralContainers = [{ name: "debug", image: "busybox", targetContainerName: "main" }];
    const wanted = {
      ...created,
      spec: { ...created.spec, containers: created.spec?.containers ?? [], ephemeralContainers },
    };
    await client.update(Pod, wanted, { subresource: "ephemeralcontainers" });
    const { spec } = await client.get(Pod, { name: "debugged" });
    assert.deepEqual(
      spec?.ephemeralContainers?.map(({ name }) => name),
      ["debug"],
    );
  });

  test("gets a token that the server takes for the service account", async () => {
    const name = "robot";
    await client.create(ServiceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });
    const { token, expirationTimestamp } = await client.createToken({ name }, { expirationSeconds: 3600 });
    assert.ok(Date.parse(expirationTimestamp) > Date.now());
    const { tls, ...config } = site.config;
    const credentials = { current: async () => ({ authorization: `Bearer ${token}` }), rejected() {} };
    const robot = new KubeClient({ ...config, tls: { ca: tls.ca }, credentials });
    const review: SelfSubjectReview = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
      metadata: {},
    };
    const { status } = await robot.create(SelfSubjectReview, review);
    assert.equal(status?.userInfo?.username, "system:serviceaccount:default:robot");
    await robot.close();
    const other = await client.createToken({ name }, { audiences: ["elsewhere"] });
    const { status: result } = await client.create(TokenReview, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      metadata: {},
      spec: { token: other.token, audiences: ["elsewhere"] },
    });
    assert.deepEqual([result?.authenticated, result?.audiences], [true, ["elsewhere"]]);
  });

  test("reads a log whole, follows one as it grows, and says why there is none", async () => {
    await pod("talker", "n1");
    answer = (_, response) => void response.writeHead(200).end("one\ntwo\n");
    const options = { container: "main", tailLines: 2, timestamps: true, limitBytes: 1000, sinceSeconds: 60 };
    let text = "";
    for await (const chunk of client.log({ name: "talker" }, options)) text += chunk.toString();
    assert.equal(text, "one\ntwo\n");
    const asked = new URL(kubelet.requests.at(-1)?.url ?? "", "https://kubelet");
    assert.equal(asked.pathname, "/containerLogs/default/talker/main");
    const { tailLines, timestamps, limitBytes } = Object.fromEntries(asked.searchParams);
    assert.deepEqual([tailLines, timestamps, limitBytes], ["2", "true", "1000"]);

    let say: (text: string) => void = () => {};
    answer = (_, response) => {
      response.writeHead(200).flushHeaders();
      say = (text) => void response.write(text);
    };
    const before = kubelet.requests.length;
    const log = client.log({ name: "talker" }, { follow: true });
    const first = log.next();
    await until(() => kubelet.requests.length > before);
    say("hello ");
    assert.equal((await first).value?.toString(), "hello ");
    say("wörld");
    assert.equal((await log.next()).value?.toString(), "wörld");
    await log.return();

    await assert.rejects(client.log({ name: "talker" }, { container: "other" }).next(), (error) => {
      assert.ok(error instanceof errors.ApiError);
      assert.match(error.message, /^cannot read the log of Pod default\/talker: container other is not valid/);
      return true;
    });
  });

  test("any path can be asked for as it is", async () => {
    assert.equal((await client.raw("GET", "/readyz")).body.toString(), "ok");
    const table = await client.raw("GET", "/api/v1/nodes", {
      headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" },
      query: { limit: 1 },
    });
    assert.equal(JSON.parse(table.body.toString()).kind, "Table");
    await assert.rejects(client.raw("GET", "/nothing/here"), errors.isNotServed);
  });
}

/** Where the API server asks for logs: an HTTPS server in the kubelet's place. */
async function kubeletStandIn(answer: Answer): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), "fjord-kubelet-"));
  const authority = await Authority.create(directory, "kubelet authority", Date.now());
  const { certificate: cert, key } = await authority.issue({ commonName: "n1", addresses: ["127.0.0.1"] }, Date.now());
  await rm(directory, { recursive: true });
  return testServer(answer, { cert, key });
}
