/** Requests with which a consumer that controls its own agent tries to get beyond its twin namespaces. For tests. */
export interface EscapeRequest {
  /** Method and path below `/kube`, exactly as they are sent. */
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Names of the provider's that the requests are about. */
export interface EscapeTargets {
  readonly consumer: string;
  readonly rival: string;
  /** The consumer's twin namespace, tenant namespace, and the rival's. */
  readonly twin: string;
  readonly tenant: string;
  readonly rivalTwin: string;
  readonly rivalTenant: string;
  /** Addresses of the provider's own: a pod, a Service, a node. */
  readonly own: readonly string[];
}

const json = { "content-type": "application/json" };
const merge = { "content-type": "application/merge-patch+json" };

/** All of them; each is to be refused, and none to be seen by the API server as done. */
export function escapeRequests(targets: EscapeTargets): EscapeRequest[] {
  return [
    ...otherNamespaces(targets),
    ...clusterKinds(),
    ...ownNamespaceKinds(targets),
    ...subresources(targets),
    ...paths(targets),
    ...queries(targets),
    ...headers(targets),
    ...claims(targets),
    ...hostileObjects(targets),
    ...ledAstray(targets),
  ];
}

function configMap(metadata: Record<string, unknown>): Record<string, unknown> {
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "b" } };
}

function otherNamespaces({ rivalTwin, rivalTenant }: EscapeTargets): EscapeRequest[] {
  const namespaces = ["default", "kube-system", "fjord-system", rivalTwin, rivalTenant, "no-such-namespace"];
  return namespaces.flatMap((namespace) => [
    { line: `GET /api/v1/namespaces/${namespace}/secrets` },
    { line: `GET /api/v1/namespaces/${namespace}/secrets?watch=1` },
    { line: `GET /api/v1/namespaces/${namespace}/secrets/treasure` },
    { line: `GET /api/v1/namespaces/${namespace}/pods` },
    { line: `GET /api/v1/namespaces/${namespace}/pods/web/log` },
    { line: `GET /api/v1/namespaces/${namespace}/events` },
    { line: `GET /apis/fjord.dev/v1alpha1/namespaces/${namespace}/twinnamespaces` },
    { line: `GET /apis/fjord.dev/v1alpha1/namespaces/${namespace}/shadowpods` },
    { line: `POST /api/v1/namespaces/${namespace}/configmaps`, headers: json, body: configMap({ name: "escaped" }) },
    { line: `PATCH /api/v1/namespaces/${namespace}/secrets/treasure`, headers: merge, body: { data: null } },
    { line: `PUT /api/v1/namespaces/${namespace}/configmaps/treasure`, headers: json, body: configMap({ name: "x" }) },
    { line: `DELETE /api/v1/namespaces/${namespace}/secrets/treasure` },
    { line: `DELETE /api/v1/namespaces/${namespace}/secrets` },
    {
      line: `POST /apis/fjord.dev/v1alpha1/namespaces/${namespace}/twinnamespaces`,
      headers: json,
      body: {
        apiVersion: "fjord.dev/v1alpha1",
        kind: "TwinNamespace",
        metadata: { name: "a" },
        spec: { originNamespace: "a", wantedName: "a" },
      },
    },
  ]);
}

function clusterKinds(): EscapeRequest[] {
  const kinds = [
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/persistentvolumes",
    "/api/v1/componentstatuses",
    "/api/v1/events",
    "/api/v1/serviceaccounts",
    "/api/v1/endpoints",
    "/api/v1/replicationcontrollers",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/daemonsets",
    "/apis/batch/v1/jobs",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/apiregistration.k8s.io/v1/apiservices",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/fjord.dev/v1alpha1/sites",
    "/apis/fjord.dev/v1alpha1/contracts",
    "/apis/fjord.dev/v1alpha1/twinnamespaces",
  ];
  const others = [
    "GET /api/v1/nodes/test-node",
    "GET /api/v1/namespaces/default",
    "DELETE /api/v1/namespaces/default",
    "GET /api",
    "GET /apis",
    "GET /api/v1",
    "GET /version",
    "GET /healthz",
    "GET /readyz?verbose",
    "GET /metrics",
    "GET /openapi/v2",
    "GET /openapi/v3",
    "GET /logs/",
    "GET /debug/pprof/heap",
    "GET /.well-known/openid-configuration",
    "POST /api/v1/secrets",
    "DELETE /api/v1/secrets",
    "DELETE /api/v1/pods",
    "PATCH /api/v1/pods",
  ];
  return [
    ...kinds.map((path) => ({ line: `GET ${path}` })),
    ...kinds.map((path) => ({ line: `GET ${path}?watch=true` })),
    ...others.map((line) => ({ line })),
    {
      line: "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      headers: json,
      body: { spec: { nonResourceAttributes: { path: "/", verb: "get" } } },
    },
    { line: "POST /apis/authentication.k8s.io/v1/tokenreviews", headers: json, body: { spec: { token: "x" } } },
  ];
}

/** Kinds that are in the consumer's own namespaces and not its business all the same. */
function ownNamespaceKinds({ twin, tenant }: EscapeTargets): EscapeRequest[] {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "escaped" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "consumer", namespace: tenant }],
  };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a" },
    spec: { containers: [{ name: "a", image: "a" }] },
  };
  return [
    ...[twin, tenant].flatMap((namespace) => [
      { line: `POST ${rbac}/namespaces/${namespace}/rolebindings`, headers: json, body: binding },
      { line: `GET ${rbac}/namespaces/${namespace}/roles` },
      { line: `GET /api/v1/namespaces/${namespace}/serviceaccounts` },
      { line: `POST /api/v1/namespaces/${namespace}/serviceaccounts/default/token`, headers: json, body: {} },
      { line: `POST /api/v1/namespaces/${namespace}/pods`, headers: json, body: pod },
      { line: `DELETE /api/v1/namespaces/${namespace}/pods/web` },
      { line: `GET /api/v1/namespaces/${namespace}/resourcequotas` },
      { line: `GET /apis/apps/v1/namespaces/${namespace}/deployments` },
    ]),
    { line: `GET /api/v1/namespaces/${tenant}/secrets` },
    { line: `GET /api/v1/namespaces/${tenant}/configmaps` },
    { line: `POST /api/v1/namespaces/${tenant}/configmaps`, headers: json, body: configMap({ name: "a" }) },
    { line: `PATCH /api/v1/namespaces/${twin}`, headers: merge, body: { metadata: { labels: { a: "b" } } } },
    { line: `PUT /api/v1/namespaces/${twin}/finalize`, headers: json, body: {} },
    { line: `DELETE /api/v1/namespaces/${twin}/configmaps` },
  ];
}

function subresources({ twin, rivalTwin }: EscapeTargets): EscapeRequest[] {
  const own = `/api/v1/namespaces/${twin}`;
  return [
    { line: `GET ${own}/pods/web/proxy` },
    { line: `GET ${own}/pods/web/proxy/` },
    { line: `GET ${own}/pods/web/proxy/metrics` },
    { line: `GET ${own}/pods/web:8080/proxy/` },
    { line: `GET ${own}/pods/https:web:443/proxy/` },
    { line: `GET ${own}/services/web/proxy` },
    { line: `GET ${own}/services/https:kubernetes:443/proxy/api` },
    { line: "GET /api/v1/nodes/test-node/proxy" },
    { line: "GET /api/v1/nodes/test-node/proxy/pods" },
    { line: "GET /api/v1/nodes/https:test-node:10250/proxy/configz" },
    { line: "GET /api/v1/nodes/test-node/log" },
    { line: "GET /api/v1/proxy/nodes/test-node" },
    { line: `GET /api/v1/proxy/namespaces/${twin}/pods/web` },
    { line: `GET /api/v1/watch/namespaces/${rivalTwin}/secrets` },
    { line: "GET /api/v1/watch/secrets" },
    { line: `POST ${own}/pods/web/eviction`, headers: json, body: {} },
    { line: `POST ${own}/pods/web/binding`, headers: json, body: {} },
    { line: `POST ${own}/bindings`, headers: json, body: {} },
    { line: `PATCH ${own}/pods/web/ephemeralcontainers`, headers: merge, body: {} },
    { line: `PATCH ${own}/pods/web/status`, headers: merge, body: {} },
    { line: `PATCH ${own}/pods/web/resize`, headers: merge, body: {} },
    { line: `PUT /apis/fjord.dev/v1alpha1/namespaces/${twin}/shadowpods/web/status`, headers: json, body: {} },
    { line: `GET ${own}/pods/web/exec?command=id` },
    { line: `POST ${own}/pods/web/exec?command=id` },
    { line: `GET ${own}/pods/web/portforward` },
    { line: `GET ${own}/pods/web/log?insecureSkipTLSVerifyBackend=true` },
  ];
}

function paths({ twin, rivalTwin }: EscapeTargets): EscapeRequest[] {
  const treasure = "secrets/treasure";
  return [
    `/api/v1/namespaces/${twin}/../${rivalTwin}/${treasure}`,
    `/api/v1/namespaces/${twin}/../../namespaces/${rivalTwin}/${treasure}`,
    `/api/v1/namespaces/${twin}/%2e%2e/${rivalTwin}/${treasure}`,
    `/api/v1/namespaces/${twin}/%2E%2E/${rivalTwin}/${treasure}`,
    `/api/v1/namespaces/${twin}/..%2f${rivalTwin}/${treasure}`,
    `/api/v1/namespaces/${twin}%2f..%2f${rivalTwin}/${treasure}`,
    `/api/v1/namespaces/${twin}%2F${treasure}`,
    `/api/v1/namespaces/${twin}/..;/${rivalTwin}/${treasure}`,
    `/api/v1/namespaces/${twin}/.%00./${rivalTwin}/${treasure}`,
    `/api/v1/namespaces/${twin}\\..\\${rivalTwin}\\${treasure}`,
    `/api/v1/namespaces/./${rivalTwin}/${treasure}`,
    `/api/v1//namespaces/${rivalTwin}/${treasure}`,
    `//api/v1/namespaces/${rivalTwin}/${treasure}`,
    `/./api/v1/namespaces/${rivalTwin}/${treasure}`,
    `/api/../api/v1/namespaces/${rivalTwin}/${treasure}`,
    `/apis/../api/v1/namespaces/${rivalTwin}/${treasure}`,
    `/%61pi/v1/namespaces/${rivalTwin}/${treasure}`,
    `/api/v1/namespaces/%64efault/${treasure}`,
    `/api/v1/namespaces/DEFAULT/${treasure}`,
    `/api/v1/namespaces/default%20/${treasure}`,
    `/api/v1/namespaces/default/${treasure}%3Fx`,
    `/api/v1/namespaces/default/${treasure}/`,
    `/api/v1/namespaces/default/${treasure}#${twin}`,
    `/api/v1/namespaces/${twin}/secrets/..%2f..%2fdefault%2f${treasure}`,
    `/api/v1/namespaces/${twin}/${treasure}/../../../default/${treasure}`,
    "/../api/v1/nodes",
    "/../../fjord/v1/site/../../../kube/api/v1/nodes",
    "?/api/v1/nodes",
    "/?path=/api/v1/nodes",
    "",
    "/",
    `/api/v1/namespaces/${twin}/pods/${"a".repeat(4000)}`,
  ].map((path) => ({ line: `GET ${path}` }));
}

function queries({ twin }: EscapeTargets): EscapeRequest[] {
  return [
    "/api/v1/secrets?labelSelector=a&labelSelector=",
    "/api/v1/secrets?labelSelector=a;b",
    "/api/v1/secrets?labelSelector=%",
    "/api/v1/secrets?labelSelector=%00",
    "/api/v1/secrets?labelSelector=a%0a",
    "/api/v1/secrets?labelSelector=a%7C%7Cb",
    "/api/v1/secrets?label%53elector=x",
    "/api/v1/secrets?labelSelector[]=x",
    `/api/v1/secrets?labelSelector=${"a,".repeat(4000)}a`,
    "/api/v1/secrets?namespace=default",
    "/api/v1/secrets?shardSelector=x",
    "/api/v1/secrets?includeUninitialized=true&as=root",
    "/api/v1/secrets?watch=1&watch=0",
    `/api/v1/namespaces/${twin}/secrets?access_token=x`,
    `/api/v1/namespaces/${twin}/secrets/treasure?export=true`,
    `/api/v1/namespaces/${twin}/pods/web?watch=true`,
  ].map((path) => ({ line: `GET ${path}` }));
}

/** Headers by which some server might take the consumer for somebody else; what they ask for is not the consumer's. */
function headers({ twin, rivalTwin }: EscapeTargets): EscapeRequest[] {
  const disguises: Record<string, string>[] = [
    { "Impersonate-User": "system:admin" },
    { "Impersonate-User": "admin", "Impersonate-Group": "system:masters" },
    { "impersonate-group": "system:masters" },
    { "Impersonate-Uid": "0" },
    { "Impersonate-Extra-Scopes": "all" },
    { Authorization: "Bearer admin" },
    { "X-Remote-User": "admin", "X-Remote-Group": "system:masters" },
    { "X-Forwarded-User": "admin" },
    { "X-Forwarded-Uri": `/api/v1/namespaces/${rivalTwin}/secrets` },
    { "X-Original-URL": `/api/v1/namespaces/${rivalTwin}/secrets` },
    { "X-HTTP-Method-Override": "GET" },
    { Connection: "close, Impersonate-User" },
    { "Proxy-Authorization": "Basic YTpi" },
    { "Fjord-Site": "another" },
  ];
  const treasure = `GET /api/v1/namespaces/${rivalTwin}/secrets/treasure`;
  return [
    ...disguises.map((disguise) => ({ line: treasure, headers: disguise })),
    ...disguises.map((disguise) => ({ line: "GET /api/v1/nodes", headers: disguise })),
    { line: `GET /api/v1/namespaces/${twin}/secrets`, headers: { Upgrade: "websocket", Connection: "Upgrade" } },
    { line: "GET /api/v1/secrets", headers: { Upgrade: "SPDY/3.1", Connection: "Upgrade" } },
    { line: "GET /api/v1/nodes", headers: { Upgrade: "h2c", Connection: "Upgrade, HTTP2-Settings" } },
    { line: treasure, headers: { Upgrade: "fjord-tunnel", Connection: "Upgrade" } },
    {
      line: `GET /api/v1/namespaces/${rivalTwin}/pods/web/exec?command=id&stdout=true`,
      headers: { Upgrade: "SPDY/3.1", Connection: "Upgrade", "X-Stream-Protocol-Version": "v4.channel.k8s.io" },
    },
    {
      line: "GET /api/v1/namespaces/default/pods/web/portforward",
      headers: {
        Upgrade: "websocket",
        Connection: "Upgrade",
        "Sec-WebSocket-Key": "YWJj",
        "Sec-WebSocket-Version": "13",
      },
    },
  ];
}

/** Objects in its own namespace that say that they are another's, which would then see them. */
function claims({ twin, rival }: EscapeTargets): EscapeRequest[] {
  const label = "fjord.dev/consumer";
  const labels = { [label]: rival };
  const shadow = {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "ShadowPod",
    spec: { contract: "c", originUid: "u", pod: { spec: { containers: [{ name: "a", image: "a" }] } } },
  };
  const claimed = { ...shadow.spec, pod: { ...shadow.spec.pod, metadata: { labels } } };
  const own = `/api/v1/namespaces/${twin}/configmaps`;
  const shadows = `/apis/fjord.dev/v1alpha1/namespaces/${twin}/shadowpods`;
  const treasure = `PATCH ${own}/treasure`;
  const patch = (type: string, body: unknown) => ({
    line: treasure,
    headers: { "content-type": `application/${type}` },
    body,
  });
  return [
    { line: `POST ${own}`, headers: json, body: configMap({ name: "claim", labels }) },
    { line: `POST ${shadows}`, headers: json, body: { ...shadow, metadata: { name: "claim", labels } } },
    { line: `POST ${shadows}`, headers: json, body: { ...shadow, metadata: { name: "claim" }, spec: claimed } },
    { line: `PUT ${own}/treasure`, headers: json, body: configMap({ name: "treasure", labels }) },
    patch("merge-patch+json", { metadata: { labels } }),
    patch("strategic-merge-patch+json", { metadata: { labels } }),
    patch("apply-patch+yaml", configMap({ name: "treasure", labels })),
    patch("json-patch+json", [{ op: "add", path: "/metadata/labels/fjord.dev~1consumer", value: rival }]),
    patch("json-patch+json", [{ op: "replace", path: "/metadata/labels", value: labels }]),
    patch("json-patch+json", [{ op: "add", path: "/metadata", value: { labels } }]),
    patch("json-patch+json", [{ op: "copy", from: "/data/who", path: "/metadata/labels/fjord.dev~1consumer" }]),
    patch("json-patch+json", [{ op: "move", from: "/data/who", path: "/metadata/labels/fjord.dev~1consumer" }]),
    {
      line: `POST ${own}`,
      headers: json,
      body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"metadata":{"name":"twice","labels":{"${label}":"${rival}"}}}`,
    },
    {
      line: `POST ${own}`,
      headers: { "content-type": "application/yaml" },
      body: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: claim, labels: {${label}: ${rival}}}\n`,
    },
    { line: `POST ${own}`, headers: {}, body: configMap({ name: "untyped", labels }) },
    {
      line: treasure,
      headers: { "content-type": "application/apply-patch+yaml" },
      body: `metadata: {labels: {${label}: ${rival}}}`,
    },
    { line: `POST ${own}`, headers: { "content-type": "application/vnd.kubernetes.protobuf" }, body: "k8s\0" },
  ];
}

function hostileObjects({ twin, rivalTwin }: EscapeTargets): EscapeRequest[] {
  const own = `/api/v1/namespaces/${twin}`;
  const service = (spec: unknown) => ({ apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec });
  const secret = (type: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    type,
    metadata: { name: "token", annotations: { "kubernetes.io/service-account.name": "default" } },
  });
  return [
    { line: `POST ${own}/configmaps`, headers: json, body: configMap({ name: "elsewhere", namespace: rivalTwin }) },
    { line: `POST ${own}/configmaps`, headers: json, body: configMap({ name: "elsewhere", namespace: "default" }) },
    {
      line: `POST ${own}/configmaps`,
      headers: json,
      body: configMap({ name: "kept", finalizers: ["a.example/kept"] }),
    },
    { line: `POST ${own}/configmaps`, headers: json, body: configMap({ name: "../escaped" }) },
    { line: `POST ${own}/configmaps`, headers: json, body: configMap({ name: "a\u0000b" }) },
    { line: `POST ${own}/configmaps`, headers: json, body: configMap({ name: "a".repeat(10_000) }) },
    { line: `POST ${own}/configmaps`, headers: json, body: configMap({ name: "A_B" }) },
    { line: `POST ${own}/configmaps`, headers: json, body: { ...configMap({ name: "a" }), kind: "Secret" } },
    { line: `POST ${own}/configmaps`, headers: json, body: "[".repeat(100_000) },
    { line: `POST ${own}/configmaps`, headers: json, body: `"${"x".repeat(4 * 1024 * 1024)}"` },
    { line: `POST ${own}/configmaps`, headers: json, body: "" },
    { line: `POST ${own}/configmaps`, headers: { ...json, "content-encoding": "gzip" }, body: "x" },
    {
      line: `POST ${own}/services`,
      headers: json,
      body: service({ ports: [{ port: 80 }], externalIPs: ["10.0.0.1"] }),
    },
    ...[{ volumeName: "the-owners" }, { selector: {} }, { storageClassName: "" }].map((choice) => ({
      line: `POST ${own}/persistentvolumeclaims`,
      headers: json,
      body: {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: "claim" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...choice },
      },
    })),
    { line: `POST ${own}/secrets`, headers: json, body: secret("kubernetes.io/service-account-token") },
    { line: `POST ${own}/secrets`, headers: json, body: secret("bootstrap.kubernetes.io/token") },
    { line: `GET ${own}/secrets`, headers: json, body: "{}" },
    { line: `TRACE ${own}/secrets` },
    { line: `OPTIONS ${own}/secrets` },
    { line: `PROPFIND ${own}/secrets` },
  ];
}

/** Objects by which nodes or Ingress controllers of the provider would lead whoever asks to what the consumer may not reach. */
function ledAstray({ twin, rivalTwin, own }: EscapeTargets): EscapeRequest[] {
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${twin}/endpointslices`;
  const services = `/api/v1/namespaces/${twin}/services`;
  const slice = (fields: object) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "astray", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80 }],
    ...fields,
  });
  const named = (externalName: string) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "astray" },
    spec: { type: "ExternalName", externalName },
  });
  const patch = (path: string, type: string, body: unknown) => ({
    line: `PATCH ${path}`,
    headers: { "content-type": `application/${type}` },
    body,
  });
  const led = [...own, "127.0.0.1", "169.254.169.254", "0.0.0.0"].map((address) => [{ addresses: [address] }]);
  const mixed = [{ addresses: ["203.0.113.5"] }, { addresses: ["203.0.113.6"] }, { addresses: own.slice(0, 1) }];
  const names = [
    "kubernetes.default.svc.cluster.local",
    "kubernetes.default.svc",
    "kubernetes.default",
    `web.${rivalTwin}.svc.cluster.local`,
    `web.${rivalTwin}`,
    "localhost",
    "web",
    "10-0-0-1.default.pod.cluster.local",
    ...own,
    "127.1",
  ];
  return [
    ...[...led, mixed].flatMap((endpoints) => [
      { line: `POST ${slices}`, headers: json, body: slice({ endpoints }) },
      { line: `PUT ${slices}/harmless`, headers: json, body: slice({ metadata: { name: "harmless" }, endpoints }) },
      patch(`${slices}/harmless`, "merge-patch+json", { endpoints }),
      patch(`${slices}/harmless`, "strategic-merge-patch+json", { endpoints }),
      patch(`${slices}/astray?fieldManager=x&force=true`, "apply-patch+yaml", slice({ endpoints })),
      patch(`${slices}/harmless`, "json-patch+json", [{ op: "replace", path: "/endpoints", value: endpoints }]),
    ]),
    ...own.map((address) =>
      patch(`${slices}/harmless`, "json-patch+json", [
        { op: "replace", path: "/endpoints/0/addresses/0", value: address },
      ]),
    ),
    { line: `POST ${slices}`, headers: json, body: slice({ Endpoints: led[0] }) },
    { line: `POST ${slices}`, headers: json, body: slice({ endpoints: [{ Addresses: own }] }) },
    {
      line: `POST ${slices}`,
      headers: json,
      body: slice({ addressType: "FQDN", endpoints: [{ addresses: ["kubernetes.default.svc.cluster.local"] }] }),
    },
    ...names.flatMap((name) => [
      { line: `POST ${services}`, headers: json, body: named(name) },
      patch(`${services}/harmless`, "merge-patch+json", { spec: { type: "ExternalName", externalName: name } }),
      patch(`${services}/harmless`, "merge-patch+json", { spec: { externalName: name } }),
      patch(`${services}/harmless`, "json-patch+json", [{ op: "add", path: "/spec/externalName", value: name }]),
    ]),
  ];
}
