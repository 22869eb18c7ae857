import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CONSUMER_LABEL, MANAGED_LABEL, Offloading, ShadowPod, Site } from "@fjord/api";
import {
  ConfigMap,
  CoreEvent,
  Discovery,
  defineKind,
  EndpointSlice,
  Ingress,
  Namespace,
  NetworkPolicy,
  Node,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Secret,
  Service,
} from "@fjord/kube";
import { agentReady, fjord } from "@fjord/testbed/agents";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { boatDefinitions, boatRole, configMap, pod, secret, service } from "./test-objects.ts";
import { NAMESPACE, ReflectionBed } from "./test-reflection-bed.ts";

const Boat = defineKind("reflect.example.com/v1", "Boat", "boats");
const Buoy = defineKind("reflect.example.com/v1", "Buoy", "buoys");

const ingressTo = (name: string) => ({
  paths: [{ path: "/", pathType: "Prefix", backend: { service: { name, port: { number: 80 } } } }],
});

describe("reflection between two sites", { skip: kubernetesSkip(), timeout: 600_000 }, () => {
  let bed: ReflectionBed;

  before(async () => {
    bed = await ReflectionBed.start();
  });

  after(() => bed?.[Symbol.asyncDispose]());

  it("gives a Service a twin with its selector, keeps it as the original is, and takes it away", async () => {
    await bed.apply("home", NAMESPACE, service("web", { sessionAffinity: "ClientIP" }));
    const twin = await bed.twinOf(Service, "web");
    const original = await bed.home.get(Service, { name: "web", namespace: NAMESPACE });
    assert.deepEqual(twin.spec?.selector, { app: "web" });
    assert.equal(twin.spec?.sessionAffinityConfig?.clientIP?.timeoutSeconds, 10800);
    assert.notEqual(twin.spec?.clusterIP, original.spec?.clusterIP);
    assert.equal(twin.metadata.labels?.app, "web");
    await bed.apply("home", NAMESPACE, service("web", { ports: [{ port: 8080 }] }));
    await bed.twinOf(Service, "web", ({ spec }) => spec?.ports?.[0]?.port === 8080 && spec.ports.length === 1);
    await bed.kubectl("home", "delete", "service", "web", "-n", NAMESPACE);
    await bed.noTwinOf(Service, "web");
  });

  it("leaves the provider's own slices of a Service alone, which hold the guests", async () => {
    const written = () => bed.counted("fjord_reflection_items_total", { resource: "endpointslices.discovery.k8s.io" });
    const before = await written();
    await bed.apply("home", NAMESPACE, service("crew"), pod("sailor", {}, { app: "crew" }));
    const labelSelector = "kubernetes.io/service-name=crew";
    const slices = () => bed.away.list(EndpointSlice, { namespace: bed.twin, labelSelector });
    const { items } = await bed.eventually("a slice with the guest", slices, (found) =>
      found.items.some(({ endpoints }) => endpoints?.some(({ targetRef }) => targetRef?.name === "sailor")),
    );
    await bed.kubectl("home", "label", "service", "crew", "-n", NAMESPACE, "seen=yes");
    await bed.twinOf(Service, "crew", ({ metadata }) => metadata.labels?.seen === "yes");
    assert.deepEqual(
      (await slices()).items.map(({ metadata }) => metadata.uid),
      items.map(({ metadata }) => metadata.uid),
    );
    assert.equal(await written(), before);
    await bed.kubectl("home", "delete", "service/crew", "pod/sailor", "-n", NAMESPACE, "--wait=false");
    await bed.noTwinOf(Service, "crew");
  });

  it("follows an original that was deleted and made again as what it could not become", async () => {
    await bed.apply("home", NAMESPACE, service("headless"));
    const before = await bed.twinOf(Service, "headless");
    await bed.kubectl("home", "delete", "service", "headless", "-n", NAMESPACE);
    await bed.apply("home", NAMESPACE, service("headless", { clusterIP: "None" }));
    const twin = await bed.twinOf(Service, "headless", ({ spec }) => spec?.clusterIP === "None");
    assert.notEqual(twin.metadata.uid, before.metadata.uid);
    await bed.kubectl("home", "delete", "service", "headless", "-n", NAMESPACE);
  });

  it("lets ConfigMaps and Secrets go where a pod needs them, and no others", async () => {
    await bed.apply("home", NAMESPACE, configMap("settings"), configMap("diary"), secret("password"), secret("letter"));
    await bed.apply(
      "home",
      NAMESPACE,
      pod("reader", {
        envFrom: [{ configMapRef: { name: "settings" } }],
        env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "password", key: "key" } } }],
      }),
    );
    assert.equal((await bed.twinOf(ConfigMap, "settings")).data?.key, "settings");
    assert.equal((await bed.twinOf(Secret, "password")).data?.key, Buffer.from("password").toString("base64"));
    const labelled = `${MANAGED_LABEL}=reflect`;
    const there = await bed.kubectl("away", "get", "configmaps,secrets", "-n", bed.twin, "-l", labelled, "-o", "name");
    assert.deepEqual(there.trim().split("\n").sort(), ["configmap/settings", "secret/password"]);
    await bed.kubectl("home", "delete", "pod", "reader", "-n", NAMESPACE, "--wait=false");
    await bed.noTwinOf(ConfigMap, "settings");
    await bed.noTwinOf(Secret, "password");
  });

  it("puts right what somebody changes or deletes at the provider, without endless writes", async () => {
    const written = () => bed.counted("fjord_reflection_items_total", { resource: "configmaps" });
    const before = await written();
    await bed.apply("home", NAMESPACE, configMap("kept", { annotations: { "fjord.dev/reflect": "true" } }));
    const twin = await bed.twinOf(ConfigMap, "kept");
    const patch = JSON.stringify({ data: { key: "other", more: "x" } });
    await bed.kubectl("away", "patch", "configmap", "kept", "-n", bed.twin, "--type=merge", "-p", patch);
    await bed.twinOf(ConfigMap, "kept", ({ data }) => data?.key === "kept" && !("more" in data));
    await bed.kubectl("away", "delete", "configmap", "kept", "-n", bed.twin);
    await bed.twinOf(ConfigMap, "kept", ({ metadata }) => metadata.uid !== twin.metadata.uid);
    assert.ok((await written()) - before <= 5, `${(await written()) - before} writes for three changes`);
    await bed.kubectl(
      "home",
      "annotate",
      "configmap",
      "kept",
      "-n",
      NAMESPACE,
      "--overwrite",
      "fjord.dev/reflect=false",
    );
    await bed.noTwinOf(ConfigMap, "kept");
  });

  it("leaves alone what is not its own, says so, and takes the place once it is free", async () => {
    await bed.apply("away", bed.twin, configMap("taken", { data: { key: "of the provider" } }));
    await bed.apply("home", NAMESPACE, configMap("taken", { annotations: { "fjord.dev/reflect": "true" } }));
    const events = () =>
      bed.home.list(CoreEvent, { namespace: NAMESPACE, fieldSelector: "reason=ReflectionCollision" });
    const found = await bed.eventually("an event of the collision", events, ({ items }) => items.length > 0);
    assert.equal(found.items[0]?.involvedObject.name, "taken");
    const [named] = (found.items[0]?.message ?? "").split(" ");
    assert.equal(named, bed.provider, "by its name, and not by its id");
    assert.equal((await bed.twinOf(ConfigMap, "taken")).data?.key, "of the provider");
    await bed.kubectl("away", "delete", "configmap", "taken", "-n", bed.twin);
    await bed.twinOf(ConfigMap, "taken", ({ data }) => data?.key === "taken");
    await bed.kubectl("home", "delete", "configmap", "taken", "-n", NAMESPACE);
    await bed.noTwinOf(ConfigMap, "taken");
  });

  it("reflects slices of what runs elsewhere, ingresses and network policies", async () => {
    const slice = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "db-1", labels: { "kubernetes.io/service-name": "db" } },
      addressType: "IPv4",
      ports: [{ name: "sql", port: 5432 }],
      endpoints: [
        { addresses: ["10.1.2.3"], conditions: { ready: true }, hostname: "db-0", nodeName: "my-own-node" },
        { addresses: ["10.1.2.4"], conditions: { ready: false, serving: false } },
      ],
    };
    const ingress = {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "front", annotations: { "kubernetes.io/ingress.class": "mine", "example.com/kept": "yes" } },
      spec: { ingressClassName: "mine", rules: [{ host: "front.example.com", http: ingressTo("db") }] },
    };
    const policy = {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "walls" },
      spec: { podSelector: {}, ingress: [{ from: [{ namespaceSelector: {} }] }] },
    };
    const { "kubernetes.io/ingress.class": _, ...annotations } = ingress.metadata.annotations;
    const withoutClass = { ...ingress, metadata: { name: "front", annotations } };
    await bed.apply("home", NAMESPACE, service("db", { selector: undefined }), slice, withoutClass, policy);
    const twin = await bed.twinOf(EndpointSlice, "db-1");
    assert.equal(twin.metadata.labels?.["endpointslice.kubernetes.io/managed-by"], "fjord.dev");
    assert.deepEqual(twin.endpoints, [{ addresses: ["10.1.2.3"], conditions: { ready: true }, hostname: "db-0" }]);
    const front = await bed.twinOf(Ingress, "front");
    assert.equal(front.spec?.ingressClassName, undefined);
    assert.equal(front.metadata.annotations?.["example.com/kept"], "yes");
    const walls = await bed.twinOf(NetworkPolicy, "walls");
    const own = await bed.home.list(Site);
    const id = own.items.find(({ status }) => status?.role === "Self")?.status?.id;
    assert.equal(walls.spec?.ingress?.[0]?.from?.[0]?.namespaceSelector?.matchLabels?.[CONSUMER_LABEL], id);
    await bed.kubectl("home", "delete", "service,endpointslice,ingress,networkpolicy", "-n", NAMESPACE, "--all");
    await Promise.all([
      bed.noTwinOf(Service, "db"),
      bed.noTwinOf(EndpointSlice, "db-1"),
      bed.noTwinOf(Ingress, "front"),
      bed.noTwinOf(NetworkPolicy, "walls"),
    ]);
  });

  it("gives an Ingress no host that somebody else has at the provider, nor all of them, and says so", async () => {
    const ingress = (name: string, ...hosts: string[]) => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name },
      spec: { rules: hosts.map((host) => ({ ...(host && { host }), http: ingressTo("web") })) },
    });
    const told = async (name: string, why: RegExp) => {
      const events = () =>
        bed.home.list(CoreEvent, { namespace: NAMESPACE, fieldSelector: `involvedObject.name=${name}` });
      await bed.eventually(`an event of ${name}`, events, ({ items }) =>
        items.some(({ reason, message }) => reason === "ReflectionFailed" && why.test(message ?? "")),
      );
    };
    const refused = async (name: string, why: RegExp) => {
      await told(name, why);
      await bed.noTwinOf(Ingress, name);
    };
    const policy = (ingressHosts: string[] | null) =>
      bed.away.patch(Site, { name: bed.provider }, "merge", { spec: { sharing: { objects: { ingressHosts } } } });
    await bed.apply("away", "default", ingress("owners", "www.example.com", "*.own.example.com"));
    await bed.apply("home", NAMESPACE, ingress("hijack", "www.example.com"), ingress("all", ""));
    await bed.apply("home", NAMESPACE, ingress("below", "a.own.example.com"), ingress("shop", "shop.example.com"));
    await bed.twinOf(Ingress, "shop");
    await refused("hijack", /www\.example\.com is taken at the provider by another's Ingress/);
    await refused("below", /a\.own\.example\.com is taken/);
    await refused(
      "all",
      /an Ingress for all hosts .* ask the provider's owner for it in sharing\.objects\.ingressHosts/,
    );

    await policy(["*.own.example.com"]);
    await bed.apply("home", NAMESPACE, ingress("shop", "other.example.com"));
    await bed.twinOf(Ingress, "below");
    await told("shop", /other\.example\.com is not among the hosts that consumers may have \(\*\.own\.example\.com\)/);
    assert.equal((await bed.twinOf(Ingress, "shop")).spec?.rules?.[0]?.host, "shop.example.com", "what is there stays");
    await policy(null);
    await bed.kubectl("away", "delete", "ingress", "owners", "-n", "default");
    await bed.twinOf(Ingress, "hijack");
    await bed.kubectl("home", "delete", "ingress", "-n", NAMESPACE, "--all");
    await bed.noTwinOf(Ingress, "hijack");
  });

  it("leads to nothing of the provider's own, by address or by name, and says so", async () => {
    const told = async (name: string, wanted: string, why: RegExp) => {
      const events = () =>
        bed.home.list(CoreEvent, { namespace: NAMESPACE, fieldSelector: `involvedObject.name=${name}` });
      await bed.eventually(`an event of ${name}`, events, ({ items }) =>
        items.some(({ reason, message }) => reason === wanted && why.test(message ?? "")),
      );
    };
    const slice = (name: string, address: string) => ({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, labels: { "kubernetes.io/service-name": "led" } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 80 }],
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
    });
    const named = (name: string, externalName: string) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { type: "ExternalName", externalName },
    });
    const api = await bed.away.get(Service, { name: "kubernetes", namespace: "default" });
    const led = service("led", { selector: undefined });
    await bed.apply("home", NAMESPACE, led, slice("astray", api.spec?.clusterIP ?? ""), slice("right", "203.0.113.5"));
    await bed.twinOf(EndpointSlice, "right");
    await told("astray", "ReflectionFailed", /is one of the provider's own pods, Services or nodes/);
    await bed.noTwinOf(EndpointSlice, "astray");

    const own = named("own", `led.${NAMESPACE}.svc.cluster.local`);
    await bed.apply("home", NAMESPACE, own, named("far", "db.bank.svc.cluster.local"), named("short", "dns.default"));
    const twin = await bed.twinOf(Service, "own");
    assert.equal(twin.spec?.externalName, `led.${bed.twin}.svc.cluster.local`);
    await told("far", "ReflectionIncomplete", /leads to namespace bank, which has none there/);
    await told("short", "ReflectionFailed", /is a Service of the namespace default, which is none of yours/);
    await Promise.all([bed.noTwinOf(Service, "far"), bed.noTwinOf(Service, "short")]);
    const bank = await bed.offload("bank");
    assert.equal((await bed.twinOf(Service, "far")).spec?.externalName, `db.${bank}.svc.cluster.local`);
    await bed.kubectl("home", "delete", "namespace", "bank");
    await bed.noTwinOf(Service, "far");
    await bed.kubectl("home", "delete", "service,endpointslice", "-n", NAMESPACE, "--all");
    await Promise.all([bed.noTwinOf(Service, "own"), bed.noTwinOf(EndpointSlice, "right")]);
  });

  it("lets pods at home reach guests by their addresses where a policy means them", async () => {
    const walls = {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "by-label" },
      spec: { podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { app: "front" } } }] }] },
    };
    const { items: nodes } = await bed.home.list(Node);
    const nodeName = nodes.find(({ metadata }) => metadata.name !== bed.provider)?.metadata.name;
    const pods = ["front", "other"].map((app) => pod(app, {}, { app }, { nodeName }));
    await bed.apply("home", NAMESPACE, walls, ...pods);
    const blocks = ({ spec }: NetworkPolicy) =>
      (spec?.ingress?.[0]?.from ?? []).flatMap(({ ipBlock }) => ipBlock?.cidr ?? []);
    const twin = await bed.twinOf(NetworkPolicy, "by-label", (found) => blocks(found).length > 0);
    const front = await bed.home.get(Pod, { namespace: NAMESPACE, name: "front" });
    assert.deepEqual(blocks(twin), [`${front.status?.podIP}/32`]);
    await bed.kubectl("home", "delete", "pods", "front", "other", "-n", NAMESPACE, "--grace-period=0", "--force");
    await bed.twinOf(NetworkPolicy, "by-label", (found) => blocks(found).length === 0);
    await bed.kubectl("home", "delete", "networkpolicy", "by-label", "-n", NAMESPACE);
  });

  it("protects guests by the budget of the whole", async () => {
    const budget = {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "quorum" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "member" } } },
    };
    const members = ["member-0", "member-1"].map((name) => pod(name, {}, { app: "member" }));
    await bed.apply("home", NAMESPACE, budget, ...members);
    await bed.twinOf(PodDisruptionBudget, "quorum", ({ spec }) => spec?.minAvailable === 1);
    await bed.kubectl("home", "delete", "pods", "-l", "app=member", "-n", NAMESPACE, "--wait=false");
    await bed.noTwinOf(PodDisruptionBudget, "quorum");
    await bed.kubectl("home", "delete", "pdb", "quorum", "-n", NAMESPACE);
  });

  it("gives pods their claims, keeps these for as long as the originals, and tells how they are and what happens to them", async () => {
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "books" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    };
    const volumes = [{ name: "books", persistentVolumeClaim: { claimName: "books" } }];
    // Without the scheduler, which would wait for a volume here.
    await bed.apply("home", NAMESPACE, claim, pod("scholar", {}, {}, { volumes, nodeName: bed.provider }));
    const twin = await bed.twinOf(PersistentVolumeClaim, "books");
    assert.deepEqual(twin.spec?.resources?.requests, { storage: "1Gi" });
    await bed.eventually(
      "the claim's condition at home",
      () => bed.home.get(PersistentVolumeClaim, { name: "books", namespace: NAMESPACE }),
      ({ status }) => status?.conditions?.some(({ reason }) => reason === "Pending") ?? false,
    );
    const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    await bed.apply("away", bed.twin, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "books.lost" },
      involvedObject: { apiVersion: "v1", kind: "PersistentVolumeClaim", name: "books", namespace: bed.twin },
      ...{ type: "Warning", reason: "ShelfMissing", message: `no shelf for ${bed.twin}/books`, count: 1 },
      ...{ source: { component: "librarian" }, firstTimestamp: now, lastTimestamp: now },
    });
    const events = () => bed.home.list(CoreEvent, { namespace: NAMESPACE, fieldSelector: "reason=ShelfMissing" });
    const { items } = await bed.eventually("its event at home", events, (found) => found.items.length > 0);
    const { metadata } = await bed.home.get(PersistentVolumeClaim, { name: "books", namespace: NAMESPACE });
    const { involvedObject, message } = items[0] ?? {};
    assert.deepEqual([involvedObject?.kind, involvedObject?.uid], ["PersistentVolumeClaim", metadata.uid]);
    assert.equal(message, `no shelf for ${NAMESPACE}/books`);
    await bed.kubectl("home", "delete", "pod", "scholar", "-n", NAMESPACE);
    assert.equal((await bed.twinOf(PersistentVolumeClaim, "books")).metadata.deletionTimestamp, undefined);
    // Nobody needs it any more: one that its provider has taken away is not made again, and not told of.
    await bed.kubectl("away", "delete", "pvc", "books", "-n", twin.metadata.namespace ?? "", "--wait=false");
    await bed.eventually(
      "the claim without a condition",
      () => bed.home.get(PersistentVolumeClaim, { name: "books", namespace: NAMESPACE }),
      ({ status }) => (status?.conditions ?? []).length === 0,
    );
    await bed.kubectl("home", "delete", "pvc", "books", "-n", NAMESPACE, "--wait=false");
    await bed.noTwinOf(PersistentVolumeClaim, "books");
  });

  it("gives no claim the volume of an earlier one of its name", async () => {
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "diary" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    };
    const volumes = [{ name: "diary", persistentVolumeClaim: { claimName: "diary" } }];
    const writer = pod("writer", {}, {}, { volumes, nodeName: bed.provider });
    await bed.apply("home", NAMESPACE, claim, writer);
    const before = await bed.twinOf(PersistentVolumeClaim, "diary");
    const shadow = await bed.twinOf(ShadowPod, "writer");
    const agent = bed.continuum.agent(bed.consumer);
    await agent.process.kill();
    await bed.kubectl("home", "delete", "pod", "writer", "-n", NAMESPACE, "--force", "--grace-period=0");
    await bed.kubectl("home", "delete", "pvc", "diary", "-n", NAMESPACE);
    await bed.apply("home", NAMESPACE, claim);
    const stop = new AbortController();
    const { signal } = stop;
    const gone = (async () => {
      for (;;)
        for await (const { type, object } of bed.away.watch(PersistentVolumeClaim, { namespace: bed.twin, signal }))
          if (type === "DELETED" && object.metadata.uid === before.metadata.uid)
            return Number(object.metadata.resourceVersion);
    })();
    const begun = (async () => {
      for (;;)
        for await (const { type, object } of bed.away.watch(ShadowPod, { namespace: bed.twin, signal }))
          if (type === "ADDED" && object.metadata.name === "writer" && object.metadata.uid !== shadow.metadata.uid)
            return { version: Number(object.metadata.resourceVersion), at: performance.now() };
    })();
    await agent.process.start();
    // No pod comes without an agent's word: this one comes as soon as there is one to ask.
    await bed.eventually(
      "the pod of the later claim",
      () => bed.apply("home", NAMESPACE, writer).catch(() => ""),
      (applied) => applied !== "",
    );
    const asked = performance.now();
    const [{ version, at }, ended] = await Promise.all([begun, gone]);
    stop.abort();
    // It is held for five seconds at most: what a slower machine does in that time says nothing.
    if (at - asked < 5_000) assert.ok(version > ended, `a pod at ${version}, and the volume of before until ${ended}`);
    await agentReady(agent, { timeout: 120_000 });
    await bed.twinOf(PersistentVolumeClaim, "diary", ({ metadata }) => metadata.uid !== before.metadata.uid);
    await bed.kubectl("home", "delete", "pod", "writer", "-n", NAMESPACE);
    await bed.kubectl("home", "delete", "pvc", "diary", "-n", NAMESPACE, "--wait=false");
    await bed.noTwinOf(PersistentVolumeClaim, "diary");
  });

  it("tells the own pod what happens to its guest, in words of the own site", async () => {
    await bed.apply("home", NAMESPACE, pod("patient"));
    const guest = await bed.twinOf(Pod, "patient", ({ spec }) => spec?.nodeName !== undefined);
    const node = guest.spec?.nodeName ?? "";
    const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    await bed.apply("away", bed.twin, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "patient.sneeze" },
      involvedObject: { apiVersion: "v1", kind: "Pod", name: "patient", namespace: bed.twin, uid: guest.metadata.uid },
      type: "Warning",
      reason: "Sneezed",
      message: `${bed.twin}/patient sneezed on ${node}`,
      source: { component: "kubelet", host: node },
      count: 3,
      firstTimestamp: now,
      lastTimestamp: now,
    });
    const events = () => bed.home.list(CoreEvent, { namespace: NAMESPACE, fieldSelector: "reason=Sneezed" });
    const { items } = await bed.eventually("the event at home", events, ({ items }) => items.length > 0);
    const original = await bed.home.get(Pod, { name: "patient", namespace: NAMESPACE });
    assert.equal(items[0]?.involvedObject.uid, original.metadata.uid);
    assert.equal(items[0]?.count, 3);
    assert.equal(items[0]?.message, `${NAMESPACE}/patient sneezed on ${original.spec?.nodeName}`);
    assert.ok(!JSON.stringify(items).includes(node));
    await bed.kubectl("home", "delete", "pod", "patient", "-n", NAMESPACE, "--wait=false");
  });

  it("reflects the custom resources that the operators list: out with their status back, and in", async () => {
    for (const where of ["home", "away"] as const) {
      await bed.apply(where, "default", ...boatDefinitions(), boatRole());
      // What is established is known to kubectl a moment later.
      const known = () =>
        bed.kubectl(where, "api-resources", "--api-group=reflect.example.com", "--output=name").catch(() => "");
      await bed.eventually("boats and buoys", known, (names) => /boats/.test(names) && /buoys/.test(names));
    }
    const reflection = [
      { group: "reflect.example.com", resource: "boats", direction: "Both" },
      { group: "reflect.example.com", resource: "buoys", direction: "Inward" },
    ];
    const list = (where: "home" | "away", site: string) =>
      bed.kubectl(where, "patch", "site", site, "--type=merge", "-p", JSON.stringify({ spec: { reflection } }));
    await list("home", bed.consumer);
    const boat = {
      apiVersion: "reflect.example.com/v1",
      kind: "Boat",
      metadata: { name: "ark" },
      spec: { animals: 2 },
    };
    await bed.apply("home", NAMESPACE, boat);
    const told = async (name: string, resource: string) => {
      const fieldSelector = `reason=ReflectionFailed,involvedObject.name=${name}`;
      const events = () => bed.home.list(CoreEvent, { namespace: NAMESPACE, fieldSelector });
      const { items } = await bed.eventually(`an event about ${name}`, events, ({ items }) => items.length > 0);
      const owner = new RegExp(`${bed.provider}.*its owner has to serve ${resource}.reflect.example.com, .*list it`);
      assert.match(items[0]?.message ?? "", owner);
    };
    await told("ark", "boats");
    await told("offloading", "buoys");
    await list("away", bed.provider);
    const twin = await bed.twinOf(Boat, "ark");
    assert.deepEqual(twin.spec, { animals: 2 });
    const status = JSON.stringify({ status: { afloat: true } });
    const args = ["patch", "boat", "ark", "-n", bed.twin, "--subresource=status", "--type=merge", "-p", status];
    await bed.kubectl("away", ...args);
    await bed.eventually(
      "the status at home",
      () => bed.home.get(Boat, { name: "ark", namespace: NAMESPACE }),
      (found) => (found.status as { afloat?: boolean } | undefined)?.afloat === true,
    );
    await bed.apply("away", bed.twin, { ...boat, kind: "Buoy", metadata: { name: "red" }, spec: { animals: 0 } });
    const look = () => bed.find(bed.home, Buoy, "red", NAMESPACE);
    const buoy = await bed.eventually("the buoy at home", look, (found) => found !== undefined);
    assert.equal(buoy?.metadata.labels?.[MANAGED_LABEL], "reflect");
    await bed.kubectl("away", "delete", "buoy", "red", "-n", bed.twin);
    await bed.eventually("its end", look, (found) => found === undefined);
    await bed.kubectl("home", "delete", "boat", "ark", "-n", NAMESPACE);
    await bed.noTwinOf(Boat, "ark");
  });

  it("follows the rules of the namespace as they change", async () => {
    await bed.apply("home", NAMESPACE, service("ruled"));
    await bed.twinOf(Service, "ruled");
    const rules = (policy?: string) => [{ group: "", resource: "services", ...(policy && { policy }) }];
    const set = (policy?: string) =>
      bed.home.patch(Offloading, { name: "offloading", namespace: NAMESPACE }, "merge", {
        spec: { reflection: policy === undefined ? null : rules(policy) },
      });
    await set("Never");
    await bed.noTwinOf(Service, "ruled");
    await set("AllowList");
    await bed.kubectl("home", "annotate", "service", "ruled", "-n", NAMESPACE, "fjord.dev/reflect=true");
    await bed.twinOf(Service, "ruled");
    await set();
    const kept = ["annotate", "--overwrite", "service", "ruled", "-n", NAMESPACE, "fjord.dev/reflect=false"];
    await bed.kubectl("home", ...kept);
    await bed.noTwinOf(Service, "ruled");
    await bed.kubectl("home", "annotate", "service", "ruled", "-n", NAMESPACE, "fjord.dev/reflect-");
    await bed.twinOf(Service, "ruled");
    await bed.kubectl("home", "delete", "service", "ruled", "-n", NAMESPACE);
    await bed.noTwinOf(Service, "ruled");
  });

  it("begins a pod when the twins that it expects at the site are there, not before", async () => {
    const namespace = "early";
    const names = Array.from({ length: 8 }, (_, index) => `service-${index}`);
    await bed.kubectl("home", "create", "namespace", namespace);
    await bed.apply("home", namespace, ...names.map((name) => service(name)), configMap("settings"));
    const stop = new AbortController();
    const shadowMade = (async () => {
      for (;;)
        for await (const { type, object } of bed.away.watch(ShadowPod, { signal: stop.signal }))
          if (type === "ADDED" && object.metadata.name === "early")
            return { ...object.metadata, at: performance.now() };
    })();
    await fjord(bed.continuum.site(bed.consumer), "offload", namespace, "--pods=Remote", "--no-wait");
    const asked = performance.now();
    await bed.apply("home", namespace, pod("early", { envFrom: [{ configMapRef: { name: "settings" } }] }));
    const { namespace: twin = "", resourceVersion: made = "", at } = await shadowMade;
    stop.abort();
    const twins = await Promise.all([
      bed.twinOf(ConfigMap, "settings", undefined, twin),
      ...names.map((name) => bed.twinOf(Service, name, undefined, twin)),
    ]);
    const late = twins.filter(({ metadata }) => Number(metadata.resourceVersion) > Number(made));
    // It is held for five seconds at most: what a slower machine does in that time says nothing.
    if (at - asked < 5_000) assert.deepEqual(late, []);
    await bed.kubectl("home", "delete", "pod", "early", "-n", namespace);
  });

  it("catches up with all that happened while its agent was dead", async () => {
    await bed.apply("home", NAMESPACE, service("stays"), service("goes"));
    await Promise.all([bed.twinOf(Service, "stays"), bed.twinOf(Service, "goes")]);
    const agent = bed.continuum.agent(bed.consumer);
    await agent.process.kill();
    await bed.kubectl("home", "delete", "service", "goes", "-n", NAMESPACE);
    await bed.apply("home", NAMESPACE, service("stays", { ports: [{ port: 81 }] }), service("comes"));
    await agent.process.start();
    await agentReady(agent, { timeout: 120_000 });
    await Promise.all([
      bed.noTwinOf(Service, "goes"),
      bed.twinOf(Service, "comes"),
      bed.twinOf(Service, "stays", ({ spec }) => spec?.ports?.[0]?.port === 81),
    ]);
    await bed.kubectl("home", "delete", "service", "stays", "comes", "-n", NAMESPACE);
  });

  it("shows the provider nothing but what is needed there, and leaves nothing behind", async () => {
    const namespace = "vault";
    const twin = await bed.offload(namespace);
    const [needed, hidden] = [configMap("needed"), configMap("hidden")];
    const job = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "hidden-job" },
      spec: { suspend: true, template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "a" }] } } },
    };
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "hidden-account" } };
    const token = {
      ...secret("hidden-token"),
      metadata: {
        name: "hidden-token",
        annotations: { "kubernetes.io/service-account.name": "hidden-account", "fjord.dev/reflect": "true" },
      },
      type: "kubernetes.io/service-account-token",
    };
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "hidden-quota" },
      spec: { hard: { pods: "50" } },
    };
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "hidden-role" },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    };
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "hidden-claim" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    };
    const silent = {
      ...service("hidden-service"),
      metadata: { name: "hidden-service", annotations: { "fjord.dev/reflect": "false" } },
    };
    const objects = [needed, hidden, secret("hidden-secret"), job, account, token, quota, role, claim, silent];
    await bed.apply("home", namespace, ...objects, service("open"));
    await bed.apply("home", namespace, pod("guest", { envFrom: [{ configMapRef: { name: "needed" } }] }));
    await bed.twinOf(ConfigMap, "needed", undefined, twin);
    await bed.twinOf(Service, "open", undefined, twin);
    await bed.twinOf(Pod, "guest", undefined, twin);
    // Kubernetes' own, in its own time.
    await bed.twinOf(ConfigMap, "kube-root-ca.crt", undefined, twin);
    assert.deepEqual(await everythingIn(twin), [
      "configmaps/kube-root-ca.crt",
      "configmaps/needed",
      "pods/guest",
      "rolebindings/fjord-tenant",
      "serviceaccounts/default",
      "services/open",
      "shadowpods/guest",
    ]);
    const all = await bed.kubectl(
      "away",
      "get",
      "configmaps,secrets,services,pods,shadowpods",
      "-n",
      twin,
      "-o",
      "yaml",
    );
    assert.doesNotMatch(all, /hidden/);
    await bed.kubectl("home", "delete", "pod", "guest", "-n", namespace);
    // Since the agent was started again; a loop of any kind would be far beyond it.
    assert.ok((await bed.counted("fjord_reflection_items_total", {})) <= 40);
    await bed.noTwinOf(ConfigMap, "needed", twin);
    await fjord(bed.continuum.site(bed.consumer), "unoffload", namespace, "--timeout=120s");
    const look = () => bed.find(bed.away, Namespace, twin, "");
    await bed.eventually("the end of the twin", look, (found) => found === undefined);
    const kept = await bed.kubectl("home", "get", "configmaps,services", "-n", namespace, "-o", "name");
    assert.match(kept, /configmap\/needed\n(.*\n)*service\/open/);
  });

  /** All namespaced objects but events, slices of the cluster's own controller, and leases. */
  async function everythingIn(namespace: string): Promise<string[]> {
    const { resources } = await new Discovery(bed.away).surface();
    const kinds = resources.filter(({ kind, verbs }) => kind.namespaced && verbs.includes("list"));
    const seen = new Set<string>();
    for (const { kind } of kinds) {
      if (["events", "endpoints", "podmetrics"].includes(kind.plural)) continue;
      const { items } = await bed.away.list(kind, { namespace });
      for (const { metadata } of items)
        if (metadata.labels?.["endpointslice.kubernetes.io/managed-by"] !== "endpointslice-controller.k8s.io")
          seen.add(`${kind.plural}/${metadata.name}`);
    }
    return [...seen].sort();
  }
});
