import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { type KubeObject, systemClock } from "@fjord/base";
import { ClusterCredentials } from "../../authentication/cluster-credentials.ts";
import { TestCluster } from "../../test-cluster.ts";
import { requestOf } from "../test-request.ts";
import { WebhookPlugins } from "./webhook-plugins.ts";

interface Review {
  apiVersion: string;
  request: { uid: string; object: KubeObject; [name: string]: unknown };
}
type Answer = (review: Review) => unknown;

const credentials = await ClusterCredentials.open({ clock: systemClock, serverNames: ["hook.shop.svc"] });
const caBundle = Buffer.from(credentials.clusterCa.certificate).toString("base64");
const reviews: { path: string; review: Review }[] = [];
let answers: Record<string, Answer> = {};
let server: Server;

const allow = (more: object = {}): Answer => {
  return ({ apiVersion, request }) => ({
    apiVersion,
    kind: "AdmissionReview",
    response: { uid: request.uid, allowed: true, ...more },
  });
};
const deny = (status?: object): Answer => allow({ allowed: false, ...(status && { status }) });
const patch = (...operations: object[]) =>
  allow({ patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(operations)).toString("base64") });

describe("webhooks", () => {
  let cluster: TestCluster;
  let plugins: WebhookPlugins;
  let end: () => void;

  before(async () => {
    server = createServer(credentials.server, async (request, response) => {
      const path = (request.url ?? "").split("?")[0] ?? "";
      const review: Review = JSON.parse(Buffer.concat(await request.toArray()).toString());
      reviews.push({ path, review });
      const answer = answers[path];
      if (answer === undefined) return void response.writeHead(404).end();
      const body = await answer(review);
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  after(() => {
    end();
    server.close();
    server.closeAllConnections();
  });
  beforeEach(() => {
    reviews.length = 0;
    answers = {};
    cluster = new TestCluster();
    cluster.put({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { env: "test" } } });
    plugins = new WebhookPlugins();
    end = plugins.follow(cluster);
  });

  const port = () => (server.address() as AddressInfo).port;
  const rule = { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] };
  const hook = (path: string, more: object = {}) => ({
    name: `${path.slice(1)}.example.com`,
    clientConfig: { url: `https://127.0.0.1:${port()}${path}`, caBundle },
    rules: [rule],
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    failurePolicy: "Fail",
    timeoutSeconds: 10,
    ...more,
  });
  const configure = (kind: "Mutating" | "Validating", name: string, ...webhooks: object[]) =>
    cluster.put({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: `${kind}WebhookConfiguration`,
      metadata: { name },
      webhooks,
    } as KubeObject);
  const map = (data: object = {}): KubeObject =>
    ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m", namespace: "shop" }, data }) as KubeObject;
  const validate = async (object = map(), given: object = {}) => {
    const request = requestOf(cluster, object, given);
    await plugins.validating.validate?.(request);
    return request.warnings;
  };
  const mutate = async (object = map(), given: object = {}) => {
    const request = requestOf(cluster, structuredClone(object), given);
    await plugins.mutating.mutate?.(request);
    return request.object as KubeObject & { data: Record<string, string> };
  };

  it("are told all about the request", async () => {
    configure("Validating", "a", hook("/v"));
    answers["/v"] = allow({ warnings: ["mind the step"] });
    assert.deepEqual(await validate(map({ k: "v" }), { old: map(), options: { fieldManager: "me" } }), [
      "mind the step",
    ]);
    assert.equal(reviews.length, 1);
    const { apiVersion, request } = (reviews[0] as (typeof reviews)[number]).review;
    assert.equal(apiVersion, "admission.k8s.io/v1");
    const { uid, ...rest } = request;
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      kind: { group: "", version: "v1", kind: "ConfigMap" },
      resource: { group: "", version: "v1", resource: "configmaps" },
      requestKind: { group: "", version: "v1", kind: "ConfigMap" },
      requestResource: { group: "", version: "v1", resource: "configmaps" },
      name: "m",
      namespace: "shop",
      operation: "UPDATE",
      userInfo: { username: "jane", groups: ["system:authenticated"] },
      object: map({ k: "v" }),
      oldObject: map(),
      dryRun: false,
      options: { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me" },
    });
  });

  it("refuse, with or without an explanation", async () => {
    configure("Validating", "a", hook("/v"));
    answers["/v"] = deny({ message: "no maps today", reason: "NoMaps", code: 403 });
    await assert.rejects(validate(), {
      code: 403,
      reason: "NoMaps",
      message: 'admission webhook "v.example.com" denied the request: no maps today',
    });
    answers["/v"] = deny();
    await assert.rejects(validate(), {
      code: 400,
      message: 'admission webhook "v.example.com" denied the request without explanation',
    });
  });

  it("change what is to be written, one after the other", async () => {
    configure("Mutating", "a", hook("/one"), hook("/two"));
    answers["/one"] = patch({ op: "add", path: "/data/one", value: "1" });
    answers["/two"] = ({ ...review }) => {
      assert.deepEqual((review.request.object as unknown as { data: object }).data, { one: "1" });
      return patch({ op: "add", path: "/data/two", value: "2" })(review);
    };
    assert.deepEqual((await mutate()).data, { one: "1", two: "2" });
  });

  it("are asked again where they want it and others have changed something since", async () => {
    configure("Mutating", "a", hook("/one", { reinvocationPolicy: "IfNeeded" }), hook("/two"), hook("/three"));
    answers["/one"] = ({ ...review }) => {
      const { data } = review.request.object as unknown as { data: Record<string, string> };
      return patch({ op: "add", path: "/data/seen", value: Object.keys(data).join(",") })(review);
    };
    answers["/two"] = patch({ op: "add", path: "/data/two", value: "2" });
    answers["/three"] = allow();
    assert.equal((await mutate()).data.seen, "seen,two");
    assert.deepEqual(
      reviews.map(({ path }) => path),
      ["/one", "/two", "/three", "/one"],
    );
  });

  it("are followed by the built-in plugins once more", async () => {
    end();
    const builtIn = {
      name: "Upper",
      mutate({ object }: { object: KubeObject | undefined }) {
        const { data } = object as unknown as { data: Record<string, string> };
        for (const key in data) data[key] = data[key]?.toUpperCase() ?? "";
      },
    };
    plugins = new WebhookPlugins({ builtIn: [builtIn] });
    end = plugins.follow(cluster);
    configure("Mutating", "a", hook("/one"));
    answers["/one"] = patch({ op: "add", path: "/data/one", value: "x" });
    assert.deepEqual((await mutate()).data, { one: "X" });
  });

  it("are called for what their rules and selectors say only", async () => {
    const cases: [object, boolean][] = [
      [{ rules: [{ ...rule, resources: ["configmaps"] }] }, true],
      [{ rules: [{ ...rule, resources: ["secrets"] }] }, false],
      [{ rules: [{ ...rule, resources: ["configmaps/status"] }] }, false],
      [{ rules: [{ ...rule, resources: ["*/*"] }] }, true],
      [{ rules: [{ ...rule, operations: ["UPDATE"] }] }, false],
      [{ rules: [{ ...rule, apiGroups: ["apps"] }] }, false],
      [{ rules: [{ ...rule, scope: "Cluster" }] }, false],
      [{ rules: [{ ...rule, scope: "Namespaced" }] }, true],
      [{ rules: [{ ...rule, apiVersions: ["v2"] }] }, false],
      [{ namespaceSelector: { matchLabels: { env: "test" } } }, true],
      [{ namespaceSelector: { matchExpressions: [{ key: "env", operator: "DoesNotExist" }] } }, false],
      [{ objectSelector: { matchLabels: { a: "b" } } }, false],
    ];
    for (const [more, isCalled] of cases) {
      configure("Validating", "a", hook("/v", more));
      answers["/v"] = deny();
      const asked = validate();
      if (isCalled) await assert.rejects(asked, { code: 400 }, JSON.stringify(more));
      else await asked;
    }
  });

  it("are called only where their conditions hold", async () => {
    const when = (...expressions: string[]) =>
      expressions.map((expression, index) => ({ name: `c${index}`, expression }));
    const skips = 'object.metadata.name != "skip-me"';
    answers["/v"] = deny();
    configure("Validating", "a", hook("/v", { matchConditions: when(skips) }));
    await assert.rejects(validate(), { code: 400 });
    await validate({ ...map(), metadata: { name: "skip-me", namespace: "shop" } });
    configure("Validating", "a", hook("/v", { matchConditions: when("object.nothing.here == 1", "false") }));
    await validate();
    configure("Validating", "a", hook("/v", { matchConditions: when("object.nothing.here == 1") }));
    await assert.rejects(validate(), { code: 403 });
    configure(
      "Validating",
      "a",
      hook("/v", { matchConditions: when("object.nothing.here == 1"), failurePolicy: "Ignore" }),
    );
    await validate();
    configure("Validating", "a", hook("/v", { matchConditions: when('request.userInfo.username == "jim"') }));
    await validate();
  });

  it("do not concern their own configurations, nor what was removed", async () => {
    const configuration = configure("Validating", "a", hook("/v"));
    answers["/v"] = deny();
    await validate(configuration);
    cluster.remove(configuration);
    await validate();
  });

  it("that cannot be reached fail the request, or do not matter", async () => {
    const gone = { url: "https://127.0.0.1:1/x" };
    configure("Validating", "a", hook("/v", { clientConfig: gone }));
    await assert.rejects(validate(), {
      code: 500,
      reason: "InternalError",
      message:
        'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused',
    });
    configure("Validating", "a", hook("/v", { clientConfig: gone, failurePolicy: "Ignore" }));
    await validate();
    const { url } = hook("/v").clientConfig;
    configure("Validating", "a", hook("/v", { clientConfig: { url } }));
    await assert.rejects(validate(), /x509: certificate signed by unknown authority/);
    configure("Validating", "a", hook("/missing"));
    await assert.rejects(validate(), /failed to call webhook: the server could not find the requested resource/);
  });

  it("that take too long fail", async () => {
    configure("Validating", "a", hook("/slow", { timeoutSeconds: 1 }));
    answers["/slow"] = () => new Promise(() => {});
    await assert.rejects(validate(), /slow\?timeout=1s": context deadline exceeded/);
  });

  it("that answer nonsense fail", async () => {
    configure("Validating", "a", hook("/v", { timeoutSeconds: 30 }));
    const told = async (answer: Answer) => {
      answers["/v"] = answer;
      const error = await validate().then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      return error?.message.replace(/^.*received invalid webhook response: /, "");
    };
    assert.equal(
      await told(() => ({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" })),
      "webhook response was absent",
    );
    assert.match((await told(allow({ uid: "x" }))) ?? "", /^expected response\.uid="[0-9a-f-]+", got "x"$/);
    assert.match((await told(patch({}))) ?? "", /validating webhook may not return response.patch/);
    assert.match((await told(() => "hello")) ?? "", /couldn't get version\/kind; json parse error/);
    assert.match(
      (await told(() => ({}))) ?? "",
      /expected webhook response of admission.k8s.io\/v1, Kind=AdmissionReview/,
    );
  });

  it("with side effects are not asked in a dry run", async () => {
    configure("Validating", "a", hook("/v", { sideEffects: "Some" }));
    answers["/v"] = allow();
    await validate();
    await assert.rejects(validate(map(), { dryRun: true }), {
      code: 400,
      message: 'admission webhook "v.example.com" does not support dry run',
    });
  });

  it("are found by their service", async () => {
    const service = { namespace: "shop", name: "hook", path: "/v", port: 8443 };
    configure("Validating", "a", hook("/v", { clientConfig: { service, caBundle } }));
    answers["/v"] = deny({ message: "by service" });
    await assert.rejects(validate(), {
      message:
        'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: Post "https://hook.shop.svc:8443/v?timeout=10s": service "hook" not found',
    });
    const ports = [{ name: "https", port: 8443 }];
    cluster.put({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "hook", namespace: "shop" },
      spec: { ports },
    } as KubeObject);
    await assert.rejects(validate(), /no endpoints available for service "hook"/);
    cluster.put({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "hook-1", namespace: "shop", labels: { "kubernetes.io/service-name": "hook" } },
      endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
      ports: [{ name: "https", port: port() }],
    } as KubeObject);
    await assert.rejects(validate(), /denied the request: by service/);
  });
});
