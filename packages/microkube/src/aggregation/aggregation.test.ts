import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { TLSSocket } from "node:tls";
import type { KubeObject } from "@fjord/base";
import { type Answer, TestApi } from "../server/test-api.ts";
import { TestCluster } from "../test-cluster.ts";
import type { ApiService } from "./api-service.ts";
import { groupsOf } from "./remote-groups.ts";
import { placeProblem } from "./remote-server.ts";

let api: TestApi;
let remote: Server;
let caBundle = "";
const seen: { method: string; url: string; headers: IncomingHttpHeaders; as: string; body: string }[] = [];
const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const name = "v1beta1.weather.example.com";
const root = "/apis/weather.example.com/v1beta1";
const reports = `${root}/namespaces/default/reports`;

/** Serves one resource, to nobody but the front proxy. */
before(async () => {
  api = await TestApi.start({ serverNames: ["weather.default.svc"] });
  const { credentials } = api.microkube;
  caBundle = Buffer.from(credentials.clusterCa.certificate).toString("base64");
  const tls = { ...credentials.server, ca: credentials.frontProxyCa.certificate, requestCert: true };
  remote = createServer(tls, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = "", url = "", headers } = request;
    const as = String((request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? "");
    seen.push({ method, url, headers, as, body });
    const resources = [
      { name: "reports", singularName: "report", namespaced: true, kind: "Report", verbs: ["get", "list"] },
      { name: "reports/status", singularName: "", namespaced: true, kind: "Report", verbs: ["get"] },
    ];
    const list = { kind: "APIResourceList", apiVersion: "v1", groupVersion: "weather.example.com/v1beta1", resources };
    const answer = url === root ? list : { kind: "Report", apiVersion: "weather.example.com/v1beta1", metadata: {} };
    response.writeHead(method === "POST" ? 201 : 200, { "content-type": "application/json", "x-own": "yes" });
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => remote.listen(0, "127.0.0.1", resolve));
});
after(async () => {
  await api[Symbol.asyncDispose]();
  remote.close();
  remote.closeAllConnections();
});

const port = () => (remote.address() as AddressInfo).port;
const apiService = () => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name },
  spec: {
    group: "weather.example.com",
    version: "v1beta1",
    groupPriorityMinimum: 100,
    versionPriority: 10,
    service: { namespace: "default", name: "weather", port: port() },
    caBundle,
  },
});

async function until(look: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error("it did not come about within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const conditionOf = ({ body }: Answer) =>
  (body as unknown as ApiService).status?.conditions?.find(({ type }) => type === "Available");
const becomes = (reason: string) =>
  until(async () => conditionOf(await api.get(`${services}/${name}`))?.reason === reason);

test("what the server has itself is there as APIServices", async () => {
  await until(async () => (await api.get(`${services}/v1.apps`)).code === 200);
  const own = await api.get(`${services}/v1.apps`);
  const { spec } = own.body as unknown as ApiService;
  assert.deepEqual(spec, { group: "apps", version: "v1", groupPriorityMinimum: 17800, versionPriority: 15 });
  assert.deepEqual(own.body.metadata.labels, { "kube-aggregator.kubernetes.io/automanaged": "onstart" });
  assert.equal(conditionOf(own)?.reason, "Local");
  assert.equal((await api.get(`${services}/v1.`)).code, 200);
  assert.equal((await api.get(`${services}/v1.apiregistration.k8s.io`)).code, 404);
});

test("custom resources' APIServices come and go with them", async () => {
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const schema = { openAPIV3Schema: { type: "object" } };
  await api.post(definitions, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "toys.shop.example.com" },
    spec: {
      group: "shop.example.com",
      scope: "Namespaced",
      names: { plural: "toys", kind: "Toy" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
  const of = `${services}/v1.shop.example.com`;
  await until(async () => (await api.get(of)).code === 200);
  assert.equal(((await api.get(of)).body as unknown as ApiService).spec.groupPriorityMinimum, 1000);
  await api.send("DELETE", `${definitions}/toys.shop.example.com`);
  await until(async () => (await api.get(of)).code === 404);
});

test("another server's API is not available before its service is there", async () => {
  const made = await api.post(services, apiService());
  assert.equal(made.code, 201, made.text);
  await becomes("ServiceNotFound");
  const condition = conditionOf(await api.get(`${services}/${name}`));
  assert.equal(condition?.status, "False");
  assert.equal(condition?.message, 'service/weather in "default" is not present');
  const answer = await api.get(reports);
  assert.deepEqual([answer.code, answer.text], [503, "service unavailable\n"]);
});

test("once it is, requests are passed on by the front proxy, with who asks", async () => {
  const spec = { type: "ExternalName", externalName: "localhost" };
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "weather" }, spec };
  assert.equal((await api.post("/api/v1/namespaces/default/services", service)).code, 201);
  await becomes("Passed");
  seen.length = 0;
  const got = await api.get(`${reports}/today?pretty=0`, { authorization: "", "x-remote-user": "liar" });
  assert.deepEqual([got.code, got.body.kind, got.headers["x-own"]], [200, "Report", "yes"]);
  const [first] = seen;
  assert.ok(first);
  const { url, headers, as } = first;
  assert.deepEqual([url, as], [`${reports}/today?pretty=0`, "front-proxy-client"]);
  assert.equal(headers["x-remote-user"], "kubernetes-admin");
  assert.match(String(headers["x-remote-group"]), /system:masters/);
  assert.deepEqual([headers.authorization, headers.host], [undefined, `weather.default.svc:${port()}`]);
  const sent = await api.post(reports, { kind: "Report" });
  assert.deepEqual([sent.code, seen[1]?.method, seen[1]?.body], [201, "POST", '{"kind":"Report"}']);
});

test("whoever may not is not passed on", async () => {
  seen.length = 0;
  const refused = await api.get(reports, { "impersonate-user": "jane" });
  assert.equal(refused.code, 403);
  assert.deepEqual(
    seen.filter(({ url }) => url === reports),
    [],
  );
});

test("discovery tells of it with all else", async () => {
  const { groups } = (await api.get("/apis")).body;
  assert.equal(groups.at(-1)?.name, "weather.example.com");
  assert.equal((await api.get("/apis/weather.example.com")).code, 200);
  assert.equal((await api.get(root)).body.resources[0]?.name, "reports");
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const { items } = (await api.get("/apis", { accept })).body;
  const found = items.find(({ metadata }) => metadata.name === "weather.example.com");
  assert.deepEqual(found?.versions, [
    {
      version: "v1beta1",
      resources: [
        {
          resource: "reports",
          responseKind: { group: "weather.example.com", version: "v1beta1", kind: "Report" },
          scope: "Namespaced",
          singularResource: "report",
          verbs: ["get", "list"],
          subresources: [
            {
              subresource: "status",
              responseKind: { group: "weather.example.com", version: "v1beta1", kind: "Report" },
              verbs: ["get"],
            },
          ],
        },
      ],
      freshness: "Current",
    },
  ]);
});

test("a server that cannot be believed is not available, and one that is gone is forgotten", async () => {
  const other = Buffer.from(api.microkube.credentials.frontProxyCa.certificate).toString("base64");
  await api.patch(`${services}/${name}`, { spec: { caBundle: other } });
  await becomes("FailedDiscoveryCheck");
  assert.equal((await api.get(reports)).code, 503);
  await api.send("DELETE", `${services}/${name}`);
  assert.equal((await api.get(reports)).code, 404);
  assert.equal((await api.get("/apis/weather.example.com")).code, 404);
});

test("a service has to have the port, and somebody behind it", () => {
  const cluster = new TestCluster();
  const of = { spec: { service: { namespace: "default", name: "weather", port: 443 } } } as ApiService;
  const problem = () => placeProblem(cluster, of);
  assert.equal(problem()?.reason, "ServiceNotFound");
  const put = (object: object) => cluster.put(object as KubeObject);
  const metadata = { name: "weather", namespace: "default" };
  put({ apiVersion: "v1", kind: "Service", metadata, spec: { ports: [{ name: "web", port: 80 }] } });
  assert.equal(problem()?.message, 'service/weather in "default" is not listening on port 443');
  put({ apiVersion: "v1", kind: "Service", metadata, spec: { ports: [{ name: "web", port: 443 }] } });
  assert.equal(problem()?.message, 'cannot find endpointslices for service/weather in "default"');
  const labels = { "kubernetes.io/service-name": "weather" };
  const slice = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: { ...metadata, labels } };
  const ports = [{ name: "web", port: 8443 }];
  put({ ...slice, ports, endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: false } }] });
  assert.equal(
    problem()?.message,
    'endpointslices for service/weather in "default" have no addresses with port name "web"',
  );
  put({ ...slice, ports, endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }] });
  assert.equal(problem(), undefined);
});

test("what another server says of itself is taken only as far as it has that form", () => {
  const spec = { group: "g", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
  const service = { metadata: { name: "v1.g" }, spec } as unknown as ApiService;
  const groups = (resources: unknown) => groupsOf([{ service, resources: { resources } as unknown as KubeObject }]);
  for (const resources of [null, 1, "x", {}, [null, 1, "x", [], {}, { name: 1, kind: {} }, { name: "a" }]]) {
    assert.deepEqual(groups(resources)[0]?.versions[0]?.resources, []);
  }
  const odd = { name: "a", kind: "A", verbs: "get", shortNames: [1, "x"], namespaced: "yes" };
  const [resource] = groups([odd, { name: "a/b", kind: "B" }])[0]?.versions[0]?.resources ?? [];
  assert.deepEqual([resource?.verbs, resource?.shortNames, resource?.namespaced], [[], ["x"], false]);
  assert.deepEqual(
    resource?.subresources.map((sub) => sub.name),
    ["b"],
  );
  const many = Array.from({ length: 100_000 }, (_, at) => ({ name: `a${at}`, kind: "A" }));
  assert.equal(groups(many)[0]?.versions[0]?.resources.length, 1_000);
});

test("a service that leads back to this server is never available, and one of the machine's link is not asked", async () => {
  const own = Number(new URL(api.microkube.server).port);
  const post = (externalName: string, of: string) =>
    api.post("/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: of },
      spec: { type: "ExternalName", externalName },
    });
  await post("localhost", "loop");
  await post("169.254.169.254", "link");
  for (const to of ["loop", "link"]) {
    const spec = {
      ...apiService().spec,
      group: `${to}.example.com`,
      service: { namespace: "default", name: to, port: own },
    };
    const { caBundle: _, ...rest } = spec as typeof spec & { caBundle?: string };
    const body = {
      ...apiService(),
      metadata: { name: `v1beta1.${to}.example.com` },
      spec: { ...rest, insecureSkipTLSVerify: true },
    };
    assert.equal((await api.post(services, body)).code, 201);
  }
  const messageOf = async (of: string) =>
    conditionOf(await api.get(`${services}/v1beta1.${of}.example.com`))?.message ?? "";
  await until(async () => (await messageOf("link")).includes("not allowed"));
  await until(async () => /bad status from .*: 503/.test(await messageOf("loop")));
});
