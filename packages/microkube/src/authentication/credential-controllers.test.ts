import assert from "node:assert/strict";
import { createPrivateKey, sign, X509Certificate } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { der, pem, requestContent, seededRandom, silentLogger, systemClock, x509Name } from "@fjord/base";
import {
  CertificateSigningRequest,
  ClusterRoleBinding,
  clusterConfig,
  EventRecorder,
  isNotFound,
  KubeClient,
  Manager,
  Secret,
  ServiceAccount,
  SharedCaches,
} from "@fjord/kube";
import { type Microkube, startMicrokube } from "../microkube.ts";
import { generateKey, publicKeyOf } from "./authority.ts";
import { certificateController } from "./certificate-controller.ts";
import { secretTokenController } from "./secret-token-controller.ts";
import { ServiceAccountTokens } from "./service-account-token.ts";

const means = { clock: systemClock, random: seededRandom(1), logger: silentLogger };

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let left = 1_200; left > 0; left--) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("it did not come about");
}

async function requestFor(commonName: string, organizations: string[]): Promise<string> {
  const key = createPrivateKey(await generateKey());
  const content = requestContent(x509Name({ commonName, organizations }), publicKeyOf(key));
  const signature = der.bits(sign("sha256", content, key));
  const whole = der.sequence(content, der.sequence(der.objectId("1.2.840.10045.4.3.2")), signature);
  return Buffer.from(pem("CERTIFICATE REQUEST", whole)).toString("base64");
}

describe("controllers of credentials", () => {
  let microkube: Microkube;
  let client: KubeClient;
  let running: Promise<void>;
  const stop = new AbortController();

  before(async () => {
    microkube = await startMicrokube({ controllers: false, scheduler: false });
    client = microkube.client();
    const { clusterCa, serviceAccountKey } = microkube.credentials;
    const caches = new SharedCaches({ ...means, client });
    const recorder = new EventRecorder({ ...means, client, component: "test" });
    const manager = new Manager({ ...means, gracePeriodMs: 500 });
    // Only what signs is needed of it here.
    const cluster = { clock: systemClock } as ConstructorParameters<typeof ServiceAccountTokens>[0]["cluster"];
    const tokens = new ServiceAccountTokens({ cluster, key: serviceAccountKey });
    const all = { ...means, client, caches, recorder };
    manager.add(certificateController(clusterCa)(all));
    manager.add(secretTokenController({ tokens, rootCa: clusterCa.certificate })(all));
    manager.addCache(caches);
    running = manager.run(stop.signal);
  });
  after(async () => {
    stop.abort();
    await running;
    await client.close();
    await microkube.close();
  });

  const csr = async (
    name: string,
    commonName: string,
    organizations: string[],
    signerName: string,
  ): Promise<CertificateSigningRequest> => ({
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: {
      request: await requestFor(commonName, organizations),
      signerName,
      usages: ["digital signature", "key encipherment", "client auth"],
    },
  });
  const status = async (name: string) => (await client.get(CertificateSigningRequest, { name })).status;

  it("give a new node its certificate, on the word of a bootstrap token", async () => {
    const apiGroup = "rbac.authorization.k8s.io";
    const bind = (name: string, role: string) =>
      client.create(ClusterRoleBinding, {
        apiVersion: `${apiGroup}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name },
        roleRef: { apiGroup, kind: "ClusterRole", name: role },
        subjects: [{ apiGroup, kind: "Group", name: "system:bootstrappers" }],
      });
    await bind("bootstrap", "system:node-bootstrapper");
    await bind("approve", "system:certificates.k8s.io:certificatesigningrequests:nodeclient");
    const { clusterCa, admin } = microkube.credentials;
    const impersonate = { user: "system:bootstrap:abcdef", groups: ["system:bootstrappers"] };
    const config = clusterConfig({ server: microkube.server, ca: clusterCa.certificate, ...admin, impersonate });
    const bootstrapper = new KubeClient(config);
    const signer = "kubernetes.io/kube-apiserver-client-kubelet";
    await bootstrapper.create(CertificateSigningRequest, await csr("node", "system:node:n1", ["system:nodes"], signer));
    await bootstrapper.close();
    const certificate = await until(async () => (await status("node"))?.certificate);
    const x509 = new X509Certificate(Buffer.from(certificate, "base64"));
    assert.equal(x509.subject, "O=system:nodes\nCN=system:node:n1");
    assert.ok(clusterCa.hasSigned(x509));
    assert.equal((await status("node"))?.conditions?.[0]?.reason, "AutoApproved");
  });

  it("wait for somebody's approval of others, and refuse to sign what makes no sense", async () => {
    const signerName = "kubernetes.io/kube-apiserver-client";
    const made = await client.create(CertificateSigningRequest, await csr("jane", "jane", ["dev"], signerName));
    const approved = { type: "Approved", status: "True", reason: "Test", message: "" };
    await client.update(
      CertificateSigningRequest,
      { ...made, status: { conditions: [approved] } },
      { subresource: "approval" },
    );
    assert.ok(await until(async () => (await status("jane"))?.certificate));

    const wrong = await csr("wrong", "n1", ["system:nodes"], "kubernetes.io/kube-apiserver-client-kubelet");
    const other = await client.create(CertificateSigningRequest, wrong);
    await client.update(
      CertificateSigningRequest,
      { ...other, status: { conditions: [approved] } },
      { subresource: "approval" },
    );
    const failed = await until(async () => (await status("wrong"))?.conditions?.find(({ type }) => type === "Failed"));
    assert.equal(failed.message, "subject common name does not begin with system:node:");
  });

  it("fill Secrets for accounts' tokens, and remove them with the account", async () => {
    const namespace = "default";
    await client.create(ServiceAccount, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "bot", namespace },
    });
    const annotations = { "kubernetes.io/service-account.name": "bot" };
    const type = "kubernetes.io/service-account-token";
    await client.create(Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "bot", namespace, annotations },
      type,
    });
    const { token } = await until(async () => {
      const { data } = await client.get(Secret, { name: "bot", namespace });
      return data?.token && data["ca.crt"] ? { token: Buffer.from(data.token, "base64").toString() } : undefined;
    });
    const { clusterCa } = microkube.credentials;
    const bot = new KubeClient(clusterConfig({ server: microkube.server, ca: clusterCa.certificate, token }));
    await assert.rejects(bot.get(Secret, { name: "bot", namespace }), /system:serviceaccount:default:bot/);
    await bot.close();
    await client.delete(ServiceAccount, { name: "bot", namespace });
    await until(() =>
      client.get(Secret, { name: "bot", namespace }).then(
        () => undefined,
        (error: unknown) => (isNotFound(error) ? true : undefined),
      ),
    );
  });
});
