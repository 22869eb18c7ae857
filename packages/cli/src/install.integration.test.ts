import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { requestProof } from "@fjord/agent/proven-user";
import { newObject, Peering, Site } from "@fjord/api";
import {
  CertificateSigningRequest,
  ClusterRole,
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  ifNotFound,
  isAlreadyExists,
  isBeingDeleted,
  Job,
  KubeClient,
  MutatingWebhookConfiguration,
  Namespace,
  NetworkPolicy,
  PersistentVolumeClaim,
  Pod,
  Service,
} from "@fjord/kube";
import { kubernetesSkip, startTestSite, type TestSite, testedFjord } from "@fjord/testbed/testing";
import { parseAllDocuments } from "yaml";

const cli = testedFjord();
const agent = { name: "fjord-agent", namespace: "fjord-system" };

describe("installing into a cluster", { skip: kubernetesSkip(), timeout: 300_000 }, () => {
  let site: TestSite;
  let client: KubeClient;
  let folder: string;
  let before_: string[];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "fjord-install-"));
    site = await startTestSite({ components: "all" });
    client = new KubeClient(site.config, { closeGraceMs: 500 });
    // The API server makes its own Service only after it has said that it is ready.
    do before_ = await inventory(client);
    while (!before_.includes("Service kubernetes"));
  });

  after(async () => {
    await client?.close();
    await site?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const fjord = (...args: readonly string[]) =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      const env = { ...process.env, KUBECONFIG: site.kubeconfig };
      execFile(process.execPath, [cli, ...args], { env, maxBuffer: 1 << 26 }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
      });
    });

  it("prints what it would install, and touches nothing", async () => {
    const { code, out } = await fjord(
      "init",
      "--dry-run",
      "--site-name=lively-wave",
      "--endpoint=https://wave.example:7443",
    );
    assert.equal(code, 0);
    const objects = parseAllDocuments(out).map((document) => document.toJS() as { kind: string });
    const kinds = new Set(objects.map(({ kind }) => kind));
    for (const kind of [
      "CustomResourceDefinition",
      "Namespace",
      "ClusterRole",
      "NetworkPolicy",
      "Service",
      "Deployment",
    ])
      assert.ok(kinds.has(kind), kind);
    assert.match(out, /- --site-name=lively-wave\n +- --endpoint=https:\/\/wave\.example:7443\n/);
    assert.deepEqual(await inventory(client), before_);
  });

  it("installs what a strict server takes, and says what is wrong with values", async () => {
    const values = join(folder, "values.yaml");
    writeFileSync(values, "replica: 2\n");
    const wrong = await fjord("init", "--values", values);
    assert.equal(wrong.code, 1);
    assert.match(wrong.err, /values.yaml cannot be used: there is no value replica; there are siteName/);
    writeFileSync(values, "replicas: 2\ntier: edge\n");
    const { code, out, err } = await fjord("init", "--values", values, "--image=registry.example/fjord:7", "--no-wait");
    assert.deepEqual([code, out], [0, "Fjord installed\n"], err);
    const { spec } = await client.get(Deployment, agent);
    const [container] = spec?.template.spec?.containers ?? [];
    assert.deepEqual([spec?.replicas, container?.image], [2, "registry.example/fjord:7"]);
    assert.ok(container?.args?.includes("--tier=edge"));
    assert.equal(container?.securityContext?.readOnlyRootFilesystem, true);
    await client.get(NetworkPolicy, agent);
    await client.get(Service, { name: "fjord-admission", namespace: agent.namespace });
    const again = await fjord("init", "--values", values, "--image=registry.example/fjord:7", "--no-wait", "-q");
    assert.deepEqual(again, { code: 0, out: "Fjord installed\n", err: "" });
  });

  it("changes nothing that it is not asked to when it is run again", async () => {
    const installed = async () => {
      const { spec } = await client.get(Deployment, agent);
      const [container] = spec?.template.spec?.containers ?? [];
      return [spec?.replicas, container?.image, container?.args?.filter((each) => /^--(tier|site-name)=/.test(each))];
    };
    const { code, err } = await fjord("init", "--no-wait", "--site-name=lively-wave");
    assert.equal(code, 0, err);
    assert.match(err, /Fjord is installed here already: what no option names stays as it is/);
    assert.equal((await fjord("init", "--no-wait")).code, 0);
    assert.deepEqual(await installed(), [2, "registry.example/fjord:7", ["--site-name=lively-wave", "--tier=edge"]]);
  });

  it("says why the agent's image cannot be had", async () => {
    const ended = new AbortController();
    const asked = fjord("init", "--timeout=12s").finally(() => ended.abort());
    const { signal } = ended;
    // There are no nodes: this is what the kubelet of one would write.
    const waiting = { reason: "ErrImagePull", message: "registry.example/fjord:7: not found" };
    const container = { name: "agent", image: "x", imageID: "", ready: false, restartCount: 0, state: { waiting } };
    const patch = { status: { containerStatuses: [container] } };
    const pulls = async () => {
      for await (const { type, object } of client.watch(Pod, { namespace: agent.namespace, signal }))
        if (type !== "BOOKMARK" && object.status?.containerStatuses === undefined) {
          const key = { name: object.metadata.name ?? "", namespace: agent.namespace };
          await client.patch(Pod, key, "merge", patch, { subresource: "status" }).catch(ifNotFound);
        }
    };
    const [{ code, err }] = await Promise.all([asked, pulls().catch((error) => assert.ok(signal.aborted, error))]);
    assert.equal(code, 1);
    assert.match(err, /was not ready within 12 s; last: pod \S+: ErrImagePull: registry\.example\/fjord:7: not found/);
  });

  it("takes no word about gateways where none would run", async () => {
    for (const option of [
      "--gateway-node-label=example.com/gate",
      "--gateway-endpoint=192.0.2.7:51820",
      "--gateway-metrics",
    ])
      for (const command of ["init", "upgrade"]) {
        const { code, err } = await fjord(command, "--no-wait", option);
        assert.equal(code, 1);
        assert.match(err, /--gateway-[a-z-]+ is about gateways, and none would run: --gateway asks for them/);
      }
  });

  it("upgrades with the values that it was installed with", async () => {
    assert.equal((await fjord("upgrade", "--no-wait")).out, "Fjord upgraded\n");
    const { spec } = await client.get(Deployment, agent);
    assert.equal(spec?.replicas, 2);
    assert.match(spec?.template.spec?.containers[0]?.image ?? "", /^registry\.example\/fjord:0\.\d+\.\d+$/);
  });

  it("asks for the image of its version where the one before was named by its digest", async () => {
    const before = await client.get(Deployment, agent);
    const digest = `registry.example/fjord@sha256:${"a".repeat(64)}`;
    assert.equal((await fjord("init", "--no-wait", `--image=${digest}`)).code, 0);
    const { code, err } = await fjord("upgrade", "--no-wait");
    assert.equal(code, 1);
    assert.ok(err.includes(`named by its digest, ${digest}: --image names the one of this version`), err);
    const [container] = before.spec?.template.spec?.containers ?? [];
    assert.equal((await fjord("upgrade", "--no-wait", `--image=${container?.image}`)).code, 0);
  });

  it("puts no defaults in the place of values that it does not know", async () => {
    const before = await client.get(Deployment, agent);
    const annotate = (annotations: Record<string, string | null>) =>
      client.patch(Deployment, agent, "merge", { metadata: { annotations } });
    await annotate({ "fjord.dev/install-values": null });
    for (const command of ["init", "upgrade"])
      assert.match((await fjord(command, "--no-wait")).err, /does not say with which values it was installed/);
    await annotate({ "meta.helm.sh/release-name": "sea" });
    for (const command of ["init", "upgrade"])
      assert.match(
        (await fjord(command, "--no-wait")).err,
        /is Helm's release sea, .*\n.*helm upgrade RELEASE charts\/fjord/,
      );
    await annotate({ ...before.metadata.annotations, "meta.helm.sh/release-name": null });
    assert.deepEqual((await client.get(Deployment, agent)).spec, before.spec);
    const { out } = await fjord("upgrade", "--dry-run");
    assert.match(out, /fjord\.dev\/install-values: /, "what is printed can be applied and upgraded, too");
  });

  it("runs gateways where it is asked to, and takes them away where it no longer is", async () => {
    const before = await inventory(client);
    assert.equal((await fjord("upgrade", "--no-wait", "--gateway", "--gateway-node-label=example.com/gate")).code, 0);
    const sets = async () => (await client.list(DaemonSet)).items.map(({ metadata }) => metadata.name).sort();
    assert.deepEqual(await sets(), ["fjord-follower", "fjord-gateway"]);
    const scraped = async () => {
      const { items } = await client.list(DaemonSet);
      return items.map(({ spec }) => spec?.template.metadata?.annotations?.["prometheus.io/port"]);
    };
    assert.deepEqual(await scraped(), [undefined, undefined]);
    assert.equal((await fjord("upgrade", "--no-wait", "--gateway-metrics")).code, 0);
    assert.equal((await fjord("upgrade", "--no-wait")).code, 0);
    assert.deepEqual(await sets(), ["fjord-follower", "fjord-gateway"], "what was said still holds");
    assert.deepEqual(await scraped(), ["7449", "7449"]);
    const { code, err } = await fjord("upgrade", "--no-wait", "--no-gateway");
    assert.equal(code, 0, err);
    assert.match(err, /DaemonSet fjord-gateway removed/);
    assert.deepEqual(await sets(), []);
    assert.deepEqual(await inventory(client), before);
  });

  it("keeps to its namespace, and takes no other one away", async () => {
    const before = await inventory(client);
    const other = { name: "precious" };
    for (const command of ["init", "uninstall", "upgrade"]) {
      const { code, out, err } = await fjord(
        command,
        "--namespace=precious",
        ...(command === "init" ? ["--no-wait"] : []),
      );
      assert.deepEqual([code, out], [1, ""], err);
      if (command !== "upgrade") assert.match(err, /Fjord is installed in namespace fjord-system .*, not in precious/);
    }
    assert.deepEqual(await inventory(client), before);
    assert.equal(await client.get(Namespace, other).catch(ifNotFound), undefined);
  });

  it("is not removed with what somebody else has in its namespace, whoever controls that", async () => {
    const key = { name: "precious", namespace: agent.namespace };
    const operator = { apiVersion: "example.com/v1", kind: "Database", name: "main", uid: "main", controller: true };
    await client.create(PersistentVolumeClaim, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { ...key, ownerReferences: [operator] },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    const containers = [{ name: "main", image: "example.com/web:1" }];
    await client.create(Job, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: key,
      spec: { suspend: true, template: { spec: { restartPolicy: "Never", containers } } },
    });
    const before = await inventory(client);
    const { code, err } = await fjord("uninstall");
    assert.equal(code, 1);
    assert.match(err, /namespace fjord-system has Job precious, PersistentVolumeClaim precious, none of it Fjord's/);
    assert.deepEqual(await inventory(client), before);
    await client.delete(Job, key);
    await client.delete(PersistentVolumeClaim, key);
    while ((await client.get(Job, key).catch(ifNotFound)) !== undefined) await sleep(50);
    while ((await client.get(PersistentVolumeClaim, key).catch(ifNotFound)) !== undefined) await sleep(50);
  });

  it("is not removed while somebody uses it, and then leaves nothing", async () => {
    await client.create(
      Site,
      newObject(Site, { metadata: { name: "harbour", finalizers: ["fjord.dev/peer"] }, spec: {} }),
    );
    const spec = { site: "harbour", resources: { cpu: "1" } };
    await client.create(
      Peering,
      newObject(Peering, { metadata: { name: "harbour", finalizers: ["fjord.dev/peering"] }, spec }),
    );
    // As `fjord network capture` does.
    await requestProof(client, "network-capture");
    const used = await fjord("uninstall");
    assert.deepEqual([used.code, used.out], [1, ""]);
    assert.match(used.err, /Fjord is in use here: peering harbour\nEnd that first/);
    const { code, out, err } = await fjord("uninstall", "--force", "--timeout=2s");
    assert.deepEqual([code, out], [0, "Fjord uninstalled\n"], err);
    assert.deepEqual(await inventory(client), before_);
    assert.deepEqual((await client.list(CertificateSigningRequest)).items, []);
    assert.match((await fjord("upgrade")).err, /does not know Fjord's kinds|Install Fjord there first/);
    assert.deepEqual(await fjord("uninstall"), { code: 0, out: "there is nothing of Fjord here\n", err: "" });
    const foreign = await fjord("uninstall", "--namespace=default");
    assert.match(foreign.err, /namespace default is none of Fjord's, and would be removed with all that is in it/);
  });

  it("leaves no webhook of an agent that goes on outside of the cluster, and says that it does", async () => {
    assert.equal((await fjord("init", "--no-wait")).code, 0);
    const metadata = { name: "fjord", labels: { "app.kubernetes.io/name": "fjord" } };
    const webhook = {
      name: "pods.fjord.dev",
      clientConfig: { url: "https://127.0.0.1:9/admission/pods" },
      admissionReviewVersions: ["v1"],
      sideEffects: "None" as const,
    };
    const wanted: MutatingWebhookConfiguration = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata,
      webhooks: [webhook],
    };
    // As such an agent does: what is taken away it makes again, until its namespace goes.
    const make = () => client.create(MutatingWebhookConfiguration, wanted);
    await make();
    let made = 0;
    const goesOn = (async () => {
      while (!isBeingDeleted(await client.get(Namespace, { name: agent.namespace })))
        await make().then(() => made++, ifAlreadyExists);
    })();
    const { code, out, err } = await fjord("uninstall", "--timeout=2s");
    await goesOn;
    assert.deepEqual([code, out], [0, "Fjord uninstalled\n"], err);
    assert.match(err, /the agent at 127\.0\.0\.1:9 runs outside of the cluster: end its process/);
    assert.ok(made > 0);
    assert.deepEqual((await client.list(MutatingWebhookConfiguration)).items, []);
    assert.deepEqual(await inventory(client), before_);
  });
});

function ifAlreadyExists(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}

async function inventory(client: KubeClient): Promise<string[]> {
  const lists = await Promise.all([
    client.list(CustomResourceDefinition),
    client.list(ClusterRole),
    client.list(Namespace),
    client.list(Service),
    client.list(Deployment),
  ]);
  return lists.flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toSorted();
}
