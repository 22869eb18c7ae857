import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { promisify } from "node:util";
import { type Clock, seededRandom, silentLogger, sleep, systemClock } from "@fjord/base";
import {
  CertificateSigningRequest,
  type ClusterConfig,
  ConfigMap,
  KubeClient,
  Namespace,
  Node,
  Pod,
  SelfSubjectReview,
} from "@fjord/kube";
import { findBinaries } from "@fjord/testbed";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { type KubernetesMinor, kubernetesSkip, testedMinors } from "@fjord/testbed/testing";
import { ApiPodSource } from "../pod-source/api-pod-source.ts";
import { NodeStore } from "../store/node-store.ts";
import { authorityHash } from "./cluster-info.ts";
import { type BootstrapOptions, type JoinOptions, joinCluster } from "./join-cluster.ts";
import { ServingCertificate } from "./serving-certificate.ts";

for (const kubernetes of testedMinors()) {
  describe(`joining Kubernetes ${kubernetes}`, { skip: kubernetesSkip(kubernetes) }, () => tests(kubernetes));
}

function tests(kubernetes: KubernetesMinor): void {
  let site: SharedTestSite;
  let admin: KubeClient;
  let directory: string;
  let count = 0;
  const clock = systemClock;
  let signal: AbortSignal;

  // Of each test: what is made where tests are declared would also run while the others do.
  beforeEach(() => {
    signal = AbortSignal.timeout(120_000);
  });

  /** As an administrator types it, with the real kubectl. */
  async function kubectl(...args: string[]): Promise<void> {
    const { binaries } = findBinaries({ env: process.env, minors: [kubernetes] });
    await promisify(execFile)(binaries.path("kubectl", kubernetes), ["--kubeconfig", site.kubeconfig, ...args]);
  }

  /** The commands of docs/node.md. */
  async function createToken(id: string, secret: string, expiration: string): Promise<string> {
    await kubectl(
      ..."create secret generic -n kube-system --type=bootstrap.kubernetes.io/token".split(" "),
      `bootstrap-token-${id}`,
      `--from-literal=token-id=${id}`,
      `--from-literal=token-secret=${secret}`,
      "--from-literal=usage-bootstrap-authentication=true",
      `--from-literal=expiration=${expiration}`,
    );
    return `${id}.${secret}`;
  }

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fjord-join-"));
    site = await sharedTestSite({ kubernetes, components: "all" });
    admin = new KubeClient(site.config);
    const bind = (name: string, role: string, group: string) =>
      kubectl("create", "clusterrolebinding", name, `--clusterrole=${role}`, `--group=${group}`);
    const approve = "system:certificates.k8s.io:certificatesigningrequests";
    await bind("node-bootstrap", "system:node-bootstrapper", "system:bootstrappers");
    await bind("node-approve", `${approve}:nodeclient`, "system:bootstrappers");
    await bind("node-renew", `${approve}:selfnodeclient`, "system:nodes");
    await createToken("abcdef", "0123456789abcdef", new Date(Date.now() + 3_600_000).toISOString());
  });
  after(async () => {
    await admin?.close();
    await rm(directory, { recursive: true, force: true });
  });

  function options(
    more: Partial<Omit<JoinOptions, "bootstrap">> = {},
    bootstrap: Partial<BootstrapOptions> = {},
  ): JoinOptions {
    const nodeName = `n${++count}`;
    const given = { server: site.config.server, token: "abcdef.0123456789abcdef", ca: site.config.tls.ca as string };
    return {
      nodeName,
      pkiDirectory: join(directory, nodeName, "pki"),
      bootstrap: { ...given, ...bootstrap },
      env: {},
      clock,
      random: seededRandom(1),
      logger: silentLogger,
      ...more,
    };
  }

  async function whoAmI(config: ClusterConfig): Promise<string | undefined> {
    await using client = new KubeClient(config);
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: {} } as const;
    const { status } = await client.create(SelfSubjectReview, review);
    return `${status?.userInfo?.username} ${status?.userInfo?.groups?.includes("system:nodes")}`;
  }

  test("a token is enough to become a node, once: the next start needs none", async () => {
    const join1 = options();
    const { config, certificate } = await joinCluster(join1, signal);
    assert.equal(await whoAmI(config), `system:node:${join1.nodeName} true`);
    assert.ok((certificate?.expiresAt ?? 0) > clock.now());
    for (const file of await readdir(join1.pkiDirectory)) {
      assert.equal((await stat(join(join1.pkiDirectory, file))).mode & 0o777, 0o600, file);
    }
    assert.deepEqual((await readdir(join1.pkiDirectory)).sort(), ["client.pem", "kubeconfig"]);
    const { bootstrap: _, ...without } = join1;
    const again = await joinCluster(without, signal);
    assert.equal(await whoAmI(again.config), `system:node:${join1.nodeName} true`);
    const { binaries } = findBinaries({ env: process.env, minors: [kubernetes] });
    const args = ["--kubeconfig", join(join1.pkiDirectory, "kubeconfig"), "auth", "whoami"];
    const { stdout } = await promisify(execFile)(binaries.path("kubectl", kubernetes), args);
    assert.match(stdout, new RegExp(`system:node:${join1.nodeName}`));
  });

  const wrong: [string, () => Promise<JoinOptions>, string][] = [
    ["a wrong token", async () => options({}, { token: "abcdef.ffffffffffffffff" }), "NODE_BOOTSTRAP_TOKEN_REFUSED"],
    [
      "an expired token",
      async () => options({}, { token: await createToken("expird", "0123456789abcdef", "2020-01-01T00:00:00Z") }),
      "NODE_BOOTSTRAP_TOKEN_REFUSED",
    ],
    ["another cluster's authority", async () => options({}, { ca: await otherAuthority() }), "NODE_SERVER_NOT_TRUSTED"],
    [
      "no token, and nothing from before",
      async () => {
        const { bootstrap: _, ...without } = options();
        return without;
      },
      "NODE_NO_WAY_TO_JOIN",
    ],
  ];
  for (const [what, make, code] of wrong) {
    test(`${what} is refused, in words that say so`, async () => {
      await assert.rejects(joinCluster(await make(), signal), { code });
    });
  }

  async function otherAuthority(): Promise<string> {
    const { generateKey, selfSignedCertificate } = await import("./x509.ts");
    const validity = { from: 0, to: clock.now() + 1e9 };
    return selfSignedCertificate(createPrivateKey(await generateKey()), { commonName: "other" }, ["x"], validity);
  }

  test("the authority can be found by its hash, and no other is believed", async () => {
    const ca = site.config.tls.ca as string;
    const cluster = { "certificate-authority-data": Buffer.from(ca).toString("base64"), server: site.config.server };
    const data = { kubeconfig: JSON.stringify({ clusters: [{ name: "", cluster }] }) };
    const metadata = { name: "cluster-info", namespace: "kube-public" };
    await admin.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
    await kubectl(
      ..."create role -n kube-public info --verb=get --resource=configmaps --resource-name=cluster-info".split(" "),
    );
    await kubectl(..."create rolebinding -n kube-public info --role=info --user=system:anonymous".split(" "));
    const { ca: _, ...unknown } = options().bootstrap as BootstrapOptions;
    const found = await joinCluster({ ...options(), bootstrap: { ...unknown, caHashes: [authorityHash(ca)] } }, signal);
    assert.match((await whoAmI(found.config)) ?? "", /system:node/);
    const wrongHash = { ...unknown, caHashes: [`sha256:${"0".repeat(64)}`] };
    await assert.rejects(joinCluster({ ...options(), bootstrap: wrongHash }, signal), {
      code: "NODE_SERVER_NOT_TRUSTED",
    });
  });

  /** Whether requests of whoever has a token are approved without being asked about. */
  async function isApproved(): Promise<boolean> {
    const group = "certificates.k8s.io";
    const resourceAttributes = {
      group,
      resource: "certificatesigningrequests",
      subresource: "nodeclient",
      verb: "create",
    };
    const spec = { user: "system:bootstrap:abcdef", groups: ["system:bootstrappers"], resourceAttributes };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    const answer = await admin.raw("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", { body });
    return (JSON.parse(answer.body.toString("utf8")) as { status: { allowed: boolean } }).status.allowed;
  }

  test("a node that was killed while it waited for approval goes on with the same request", async () => {
    assert.ok(await isApproved());
    const approval = ["clusterrolebinding", "node-approve"];
    await kubectl("delete", ...approval);
    // The API server learns of it by watching, and would approve until then.
    while (await isApproved()) await sleep(clock, 20);
    const waiting = options();
    const killed = new AbortController();
    const first = joinCluster(waiting, killed.signal);
    const mine = async () =>
      (await admin.list(CertificateSigningRequest)).items.filter(
        ({ status, spec }) => status?.certificate === undefined && spec.username === "system:bootstrap:abcdef",
      );
    while ((await mine()).length === 0) await sleep(clock, 50);
    killed.abort(new Error("killed"));
    await assert.rejects(first, /killed/);
    const second = joinCluster(waiting, signal);
    await sleep(clock, 300);
    const [request, ...others] = await mine();
    assert.equal(others.length, 0);
    await kubectl("certificate", "approve", request?.metadata.name ?? "");
    assert.equal(await whoAmI((await second).config), `system:node:${waiting.nodeName} true`);

    const denied = options();
    const third = joinCluster(denied, signal);
    third.catch(() => {});
    while ((await mine()).length === 0) await sleep(clock, 50);
    await kubectl("certificate", "deny", (await mine())[0]?.metadata.name ?? "");
    await assert.rejects(third, { code: "NODE_CERTIFICATE_DENIED" });
    assert.deepEqual(await readdir(denied.pkiDirectory), []);
    const role = "--clusterrole=system:certificates.k8s.io:certificatesigningrequests:nodeclient";
    await kubectl("create", ...approval, role, "--group=system:bootstrappers");
  });

  test("a certificate is replaced while watches go on, and the new one is used from then on", async () => {
    const rotating = options();
    const { config, certificate } = await joinCluster(rotating, signal);
    await using client = new KubeClient(config);
    using store = await NodeStore.open({ file: join(directory, "rotation.db"), clock, logger: silentLogger });
    const stop = new AbortController();
    const { nodeName } = rotating;
    const source = new ApiPodSource({ client, store, nodeName, clock, random: seededRandom(1), logger: silentLogger });
    const running = source.run(stop.signal);
    await source.started();
    const before = new X509Certificate(certificate?.pair.cert ?? "").serialNumber;
    await certificate?.renew(client, signal);
    const after = new X509Certificate(certificate?.pair.cert ?? "").serialNumber;
    assert.notEqual(before, after);
    assert.ok(
      (await readFile(join(rotating.pkiDirectory, "client.pem"), "utf8")).includes(certificate?.pair.key ?? "?"),
    );
    assert.equal(await whoAmI(config), `system:node:${nodeName} true`);
    await admin.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "rotation" } });
    await admin.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name: nodeName } });
    const metadata = { name: "p", namespace: "rotation" };
    const spec = { nodeName, containers: [{ name: "c", image: "i" }], automountServiceAccountToken: false };
    const heard = new Promise<string>((resolve) => source.onChange(resolve));
    await kubectl("create", "serviceaccount", "-n", "rotation", "default").catch(() => {});
    await admin.create(Pod, { apiVersion: "v1", kind: "Pod", metadata, spec });
    assert.equal(source.get(await heard)?.metadata.name, "p");
    assert.equal(source.isConnected, true);
    stop.abort();
    await running;
  });

  test("a certificate that ran out is replaced by token, and without one the node starts all the same", async () => {
    const late = options();
    const { certificate } = await joinCluster(late, signal);
    const future: Clock = { ...clock, now: () => (certificate?.expiresAt ?? 0) + 1_000 };
    const { bootstrap, ...without } = late;
    const alone = await joinCluster({ ...without, clock: future }, signal);
    assert.equal(alone.certificate?.pair.cert, certificate?.pair.cert);
    const again = await joinCluster({ ...without, ...(bootstrap && { bootstrap }), clock: future }, signal);
    assert.notEqual(again.certificate?.pair.cert, certificate?.pair.cert);
  });

  test("credentials of another node are not used by mistake", async () => {
    const one = options();
    await joinCluster(one, signal);
    const { bootstrap: _, ...without } = { ...one, nodeName: "renamed" };
    await assert.rejects(joinCluster(without, signal), { code: "NODE_IDENTITY_MISMATCH" });
    const renamed = await joinCluster({ ...one, nodeName: "renamed" }, signal);
    assert.equal(await whoAmI(renamed.config), "system:node:renamed true");
  });

  test("half a file counts as none", async () => {
    const broken = options();
    await joinCluster(broken, signal);
    const file = join(broken.pkiDirectory, "client.pem");
    await writeFile(file, (await readFile(file, "utf8")).slice(0, 500));
    assert.equal(await whoAmI((await joinCluster(broken, signal)).config), `system:node:${broken.nodeName} true`);
  });

  test("the kubelet API has a certificate of its own at once, and the cluster's when someone approves it", async () => {
    const joining = options();
    const { config } = await joinCluster(joining, signal);
    await using client = new KubeClient(config);
    const names = () => [joining.nodeName, "10.1.2.3"];
    const serving = new ServingCertificate({ ...joining, names, request: true });
    const own = new X509Certificate((await serving.load()).cert);
    assert.ok(own.checkHost(joining.nodeName) && own.checkIP("10.1.2.3") && own.checkIssued(own));
    const issued = new Promise<X509Certificate>((resolve) => {
      serving.onChange(({ cert }) => resolve(new X509Certificate(cert)));
    });
    const stop = new AbortController();
    const running = serving.run(client, stop.signal);
    const pending = async () =>
      (await admin.list(CertificateSigningRequest)).items.find(
        ({ spec }) => spec.signerName === "kubernetes.io/kubelet-serving" && spec.username?.endsWith(joining.nodeName),
      );
    while ((await pending()) === undefined) await sleep(clock, 50);
    await kubectl("certificate", "approve", (await pending())?.metadata.name ?? "");
    const certificate = await issued;
    assert.ok(
      certificate.checkIP("10.1.2.3") && certificate.checkIssued(new X509Certificate(site.config.tls.ca as string)),
    );
    stop.abort();
    await running;
    const later = new ServingCertificate({ ...joining, names, request: true });
    assert.equal(new X509Certificate((await later.load()).cert).serialNumber, certificate.serialNumber);
  });
}
