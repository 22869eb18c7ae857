import assert from "node:assert/strict";
import { createPrivateKey, sign } from "node:crypto";
import { Agent, request as send } from "node:https";
import { after, before, describe, it } from "node:test";
import { der, pem, requestContent, sleep, systemClock, x509Name } from "@fjord/base";
import type { TlsConfig } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { pod, variants } from "../admission/pod-security/test-pods.ts";
import { generateKey, publicKeyOf } from "../authentication/authority.ts";
import { type Microkube, startMicrokube } from "../microkube.ts";
import { lastLearned, meta, questions, rbac, roleRef, rule, setup, subject } from "./test-access.ts";

/*
 * The same requests to a real API server and to microkube: who may do what, what is let in, and in which words it is
 * refused.
 */

interface Server {
  readonly url: string;
  /** With the administrator's credentials. */
  readonly agent: Agent;
}

interface Answer {
  readonly code: number;
  readonly body: Record<string, unknown>;
  readonly warnings: readonly string[];
}

type Headers = Record<string, string | string[]>;

function ask(server: Server, method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Answer> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const all = { "content-type": "application/json", "content-length": Buffer.byteLength(text), ...headers };
  return new Promise((resolve, reject) => {
    send(new URL(path, server.url), { method, headers: all, agent: server.agent }, async (response) => {
      const received = Buffer.concat(await response.toArray()).toString();
      const warnings = [...(response.headers.warning ?? "").matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)];
      resolve({
        code: response.statusCode ?? 0,
        body: JSON.parse(received),
        warnings: warnings.map(([, warning = ""]) => JSON.parse(`"${warning}"`)),
      });
    })
      .on("error", reject)
      .end(text);
  });
}

const as = (user: string): Headers => ({ "impersonate-user": user });
const pods = (namespace: string) => `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
const skip = kubernetesSkip();

describe("beside a real API server", { skip, timeout: 300_000 }, () => {
  let site: SharedTestSite;
  let microkube: Microkube;
  let servers: readonly [real: Server, own: Server];

  before(async () => {
    [site, microkube] = await Promise.all([sharedTestSite(), startMicrokube({ controllers: false, scheduler: false })]);
    const { clusterCa, admin } = microkube.credentials;
    const { ca, cert, key } = site.config.tls as TlsConfig;
    servers = [
      { url: site.config.server, agent: new Agent({ keepAlive: true, ca, cert, key }) },
      { url: microkube.server, agent: new Agent({ keepAlive: true, ca: clusterCa.certificate, ...admin }) },
    ];
    for (const [path, object] of setup) {
      for (const server of servers) {
        const { code, body } = await ask(server, "POST", path, object);
        assert.ok(code === 201 || code === 409, `${server.url}${path}: ${JSON.stringify(body)}`);
      }
    }
    for (const [spec, isKnown] of lastLearned) {
      const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
      const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
      await learned(path, review, ({ body }) => isKnown(body.status as { allowed: boolean; reason?: string }));
    }
  });
  after(async () => {
    for (const { agent } of servers ?? []) agent.destroy();
    await microkube?.close();
  });

  /** Asks each until its answer tells that it knows what was made: a real server learns that by watching. */
  async function learned(path: string, body: unknown, isKnown: (answer: Answer) => boolean): Promise<void> {
    for (const server of servers) {
      for (const end = Date.now() + 60_000; !isKnown(await ask(server, "POST", path, body)); ) {
        assert.ok(Date.now() < end, `${server.url} never learned what ${JSON.stringify(body)} is about`);
        await sleep(systemClock, 20);
      }
    }
  }

  /** Asks both, and holds what matters of the one against the other. */
  async function same(
    method: string,
    path: string,
    body: unknown,
    pick: (answer: Answer) => unknown,
    headers: Headers = {},
  ): Promise<void> {
    const [real, own] = await Promise.all(servers.map((server) => ask(server, method, path, body, headers)));
    assert.deepEqual(
      pick(own as Answer),
      pick(real as Answer),
      `${method} ${path} ${JSON.stringify(body)} ${JSON.stringify(headers)}`,
    );
  }

  it("everybody may do the same", async () => {
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const kind = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" };
    const pick = ({ code, body }: Answer) => {
      const { allowed, reason, denied } = (body.status ?? {}) as Record<string, unknown>;
      return { code, allowed, denied, ...(allowed === false && { reason }) };
    };
    assert.ok(questions.length > 200);
    for (let at = 0; at < questions.length; at += 10) {
      await Promise.all(questions.slice(at, at + 10).map((spec) => same("POST", path, { ...kind, spec }, pick)));
    }
  });

  it("reviews that make no sense are refused in the same words", async () => {
    const pick = ({ code, body: { message, reason, details } }: Answer) => ({ code, message, reason, details });
    const review = (kind: string, spec: object) => ({ apiVersion: "authorization.k8s.io/v1", kind, spec });
    const group = "/apis/authorization.k8s.io/v1";
    await same("POST", `${group}/subjectaccessreviews`, review("SubjectAccessReview", {}), pick);
    const both = { resourceAttributes: { verb: "get" }, nonResourceAttributes: { verb: "get" } };
    await same("POST", `${group}/selfsubjectaccessreviews`, review("SelfSubjectAccessReview", both), pick);
    const other = { user: "jane", resourceAttributes: { namespace: "farm", verb: "get" } };
    await same(
      "POST",
      `${group}/namespaces/shop/localsubjectaccessreviews`,
      review("LocalSubjectAccessReview", other),
      pick,
    );
    await same("POST", `${group}/selfsubjectrulesreviews`, review("SelfSubjectRulesReview", {}), pick);
    const tokens = "/apis/authentication.k8s.io/v1/tokenreviews";
    await same("POST", tokens, { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: {} }, pick);
  });

  it("nobody gives away what he has not, and the same is said about it", async () => {
    const pick = ({ code, body: { message, reason } }: Answer) => ({
      code,
      message,
      reason: code < 300 ? undefined : reason,
    });
    const text = (answer: Answer) => {
      const { message, ...rest } = pick(answer);
      return code(rest.code) ? rest.code : { ...rest, message };
    };
    const code = (number: number) => number < 300;
    const create = (user: string, path: string, object: object) =>
      same("POST", `${rbac}${path}?dryRun=All`, object, text, as(user));
    const pick1 = rule(["get"], [""], ["pods"]);
    await create("jane", "/namespaces/shop/roles", { ...meta("x"), rules: [pick1] });
    await create("jane", "/namespaces/shop/roles", {
      ...meta("x"),
      rules: [rule(["get", "delete"], [""], ["pods", "nodes"])],
    });
    await create("jane", "/clusterroles", { ...meta("x"), rules: [pick1] });
    await create("jane", "/clusterroles", { ...meta("x"), rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] });
    await create("jane", "/clusterroles", {
      ...meta("x"),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
    });
    const bind = (ref: object) => ({ roleRef: ref, subjects: [subject("User", "x")] });
    await create("jane", "/namespaces/shop/rolebindings", { ...meta("x"), ...bind(roleRef("Role", "reader")) });
    await create("jane", "/namespaces/farm/rolebindings", { ...meta("x"), ...bind(roleRef("ClusterRole", "scaler")) });
    await create("jane", "/clusterrolebindings", { ...meta("x"), ...bind(roleRef("ClusterRole", "cluster-admin")) });
    await create("jane", "/clusterrolebindings", { ...meta("x"), ...bind(roleRef("ClusterRole", "missing")) });
    await create("jack", "/clusterrolebindings", { ...meta("x"), ...bind(roleRef("ClusterRole", "view")) });
    await create("jim", "/namespaces/shop/roles", { ...meta("x"), rules: [pick1] });
  });

  it("impersonation is refused in the same words", async () => {
    const pick = ({ code, body: { message, reason } }: Answer) => ({ code, message, reason });
    await same("GET", "/api/v1/namespaces/shop/pods", undefined, pick, {
      "impersonate-group": "g",
      "impersonate-extra-a%2fb": "c",
    });
    await same("GET", "/api/v1/namespaces/shop/secrets", undefined, pick, as("jim"));
    await same("GET", "/nothing", undefined, pick, as("jane"));
  });

  it("the same pods are let in, and the others refused or warned of in the same words", async () => {
    const text = ({ code, body: { message }, warnings }: Answer) => ({ code, message, warnings: warnings.toSorted() });
    for (const namespace of ["privileged", "baseline", "restricted", "warned"]) {
      await Promise.all(variants.map((variant) => same("POST", pods(namespace), variant, text)));
    }
    const deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      spec: { selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b" } }, spec: pod().spec } },
    };
    await same("POST", "/apis/apps/v1/namespaces/warned/deployments?dryRun=All", deployment, text);
  });

  it("who opens a stream to a pod by GET, as by a WebSocket, needs create besides get", async () => {
    const rights = { gets: ["get"], makes: ["create"], both: ["get", "create"] };
    const make = async (path: string, object: object) => {
      for (const server of servers) {
        const { code, body } = await ask(server, "POST", path, object);
        assert.equal(code, 201, JSON.stringify(body));
      }
    };
    await make("/api/v1/namespaces/shop/pods", { ...pod(), ...meta("idle") });
    for (const [user, verbs] of Object.entries(rights)) {
      const rules = [rule(verbs, [""], ["pods/exec", "pods/attach", "pods/portforward"])];
      const bound = { roleRef: roleRef("Role", user), subjects: [subject("User", user)] };
      await make(`${rbac}/namespaces/shop/roles`, { ...meta(user), rules });
      await make(`${rbac}/namespaces/shop/rolebindings`, { ...meta(user), ...bound });
      const resourceAttributes = { namespace: "shop", verb: verbs.at(-1), resource: "pods", subresource: "exec" };
      const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" };
      const body = { ...review, spec: { user, resourceAttributes } };
      const isKnown = ({ body: { status } }: Answer) => (status as { allowed: boolean }).allowed;
      await learned("/apis/authorization.k8s.io/v1/subjectaccessreviews", body, isKnown);
    }
    const upgrade = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==",
      "sec-websocket-protocol": "v4.channel.k8s.io",
    };
    for (const stream of ["exec", "attach", "portforward"]) {
      const codes: Record<string, number> = {};
      for (const user of Object.keys(rights))
        for (const [method, headers] of [
          ["GET", upgrade],
          ["POST", {}],
        ] as const) {
          const pick = ({ code, body: { message, reason, details } }: Answer) => {
            codes[`${user} ${method}`] = code;
            return { code, message, reason, details };
          };
          const path = `/api/v1/namespaces/shop/pods/idle/${stream}?command=ls&stdout=true&ports=80`;
          await same(method, path, undefined, pick, { ...as(user), ...headers });
        }
      // Whoever may hears that the pod has no node.
      const refused = { "gets GET": 403, "gets POST": 403, "makes GET": 403 };
      assert.deepEqual(codes, { ...refused, "makes POST": 400, "both GET": 400, "both POST": 400 });
    }
  });

  it("kubelets are kept to their own, in the same words", async () => {
    const text = ({ code, body: { message, reason } }: Answer) => (code < 300 ? code : { code, message, reason });
    const kubelet = as("system:node:n1");
    const create = (path: string, object: object) => same("POST", `${path}?dryRun=All`, object, text, kubelet);
    await create("/api/v1/nodes", { metadata: { name: "n1", labels: { "node-restriction.kubernetes.io/a": "b" } } });
    await create("/api/v1/nodes", {
      metadata: { name: "n1", labels: { "kubernetes.io/role": "x", "kubernetes.io/os": "linux" } },
    });
    await create("/api/v1/nodes", { metadata: { name: "n2" } });
    await create("/api/v1/nodes", { metadata: { name: "n1" } });
    await create("/api/v1/namespaces/shop/pods", pod({ nodeName: "n1" }));
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    await create(leases, { metadata: { name: "n2" } });
    await create(leases, { metadata: { name: "n1" } });
    for (const path of [
      "secrets",
      "secrets/x",
      "configmaps/x",
      "serviceaccounts/default",
      "persistentvolumeclaims/x",
      "pods",
    ]) {
      await same("GET", `/api/v1/namespaces/shop/${path}`, undefined, text, kubelet);
    }
    await same("GET", "/api/v1/nodes", undefined, text, kubelet);
    await same("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", undefined, text, kubelet);
  });

  it("pods become the same before they are kept", async () => {
    const pick = ({ code, body }: Answer) => {
      const { metadata, spec } = body as { metadata: Record<string, unknown>; spec: unknown };
      const { annotations, labels, finalizers } = metadata;
      const named = JSON.stringify({ annotations, labels, finalizers, spec }).replaceAll(
        /kube-api-access-\w{5}/g,
        "kube-api-access",
      );
      return { code, ...JSON.parse(named) };
    };
    const create = (path: string, object: object) => same("POST", path, object, pick);
    const limits = [
      {
        type: "Container",
        default: { cpu: "500m" },
        defaultRequest: { cpu: "100m", memory: "64Mi" },
        max: { cpu: "1" },
      },
    ];
    await create("/api/v1/namespaces/shop/limitranges", { ...meta("limits"), spec: { limits } });
    const overhead = { podFixed: { cpu: "250m" } };
    const scheduling = { nodeSelector: { a: "b" }, tolerations: [{ key: "k", operator: "Exists" }] };
    await create("/apis/node.k8s.io/v1/runtimeclasses", { ...meta("sandbox"), handler: "h", overhead, scheduling });
    await create("/apis/scheduling.k8s.io/v1/priorityclasses", {
      ...meta("high"),
      value: 1000,
      preemptionPolicy: "Never",
    });
    const storage = {
      metadata: { name: "disk", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    };
    await create("/apis/storage.k8s.io/v1/storageclasses", { ...storage, provisioner: "x" });
    const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    const claims = "/api/v1/namespaces/shop/persistentvolumeclaims?dryRun=All";
    await learned(claims, { ...meta("data"), spec: claim }, ({ body }) =>
      /"storageClassName"/.test(JSON.stringify(body)),
    );
    await learned(pods("shop"), pod({ priorityClassName: "high" }), ({ code, body }) => {
      return code === 201 && /"memory":"64Mi"/.test(JSON.stringify(body.spec));
    });
    await create(pods("shop"), pod({ runtimeClassName: "sandbox", priorityClassName: "high" }));
    await create(
      pods("shop"),
      pod({ initContainers: [{ name: "i", image: "i" }], automountServiceAccountToken: false }),
    );
    await create(claims, { ...meta("data"), spec: claim });
    await create("/api/v1/nodes?dryRun=All", meta("fresh"));
    const text = ({ code, body: { message } }: Answer) => ({ code, message });
    const asking = (cpu: string) => ({ containers: [{ name: "c", image: "i", resources: { limits: { cpu } } }] });
    await same("POST", pods("shop"), pod(asking("2")), text);
  });

  it("nobody becomes a master by a certificate", async () => {
    const text = ({ code, body: { message } }: Answer) => ({ code, message });
    const key = createPrivateKey(await generateKey());
    const content = requestContent(x509Name({ commonName: "x", organizations: ["system:masters"] }), publicKeyOf(key));
    const algorithm = der.sequence(der.objectId("1.2.840.10045.4.3.2"));
    const request = pem(
      "CERTIFICATE REQUEST",
      der.sequence(content, algorithm, der.bits(sign("sha256", content, key))),
    );
    const spec = {
      request: Buffer.from(request).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    };
    const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All";
    await same("POST", path, { ...meta("x"), spec }, text);
  });

  it("levels that are none are refused in the same words", async () => {
    const pick = ({ code, body: { message, details } }: Answer) => ({ code, message, details });
    const labels = { "pod-security.kubernetes.io/enforce": "strict", "pod-security.kubernetes.io/warn-version": "1.2" };
    await same("POST", "/api/v1/namespaces?dryRun=All", { metadata: { name: "x", labels } }, pick);
  });
});
