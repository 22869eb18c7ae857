import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { Agent, request as send } from "node:https";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sleep, systemClock } from "@fjord/base";
import type { Bed, Site } from "@fjord/testbed";
import { kubernetesSkip, startTestBed } from "@fjord/testbed/testing";

/*
 * The same requests to a real API server and to microkube, under the same policy: what both have written down of them.
 */

const policy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: ["/healthz*"]
- level: None
  verbs: [get]
  resources: [{group: "", resources: [services]}]
- level: RequestResponse
  omitManagedFields: true
  namespaces: [default]
  resources: [{group: "", resources: [configmaps]}]
- level: Request
  resources: [{group: "", resources: [secrets]}]
- level: Metadata
  omitStages: [ResponseStarted]
  verbs: [watch]
- level: Metadata
`;

interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Event = Record<string, unknown> & { readonly userAgent?: string };

const MARK = "audit-test";
const maps = "/api/v1/namespaces/default/configmaps";
const secrets = "/api/v1/namespaces/default/secrets";
const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" }, data: { a: "1" } };
const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { a: "1" } };
const options = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" };

const requests: readonly [what: string, line: string, sent?: Sent][] = [
  ["a creation, with both bodies", `POST ${maps}?fieldManager=t`, { body: map }],
  ["one of a generated name", `POST ${maps}`, { body: { ...map, metadata: { generateName: "g-" } } }],
  ["a read, with the answer", `GET ${maps}/a`],
  ["a read of what is not there", `GET ${maps}/b`],
  ["a list", `GET ${maps}?labelSelector=no%3Dne`],
  [
    "a patch",
    `PATCH ${maps}/a`,
    { body: { data: { b: "2" } }, headers: { "content-type": "application/merge-patch+json" } },
  ],
  ["an update", `PUT ${maps}/a`, { body: map }],
  ["a deletion with options", `DELETE ${maps}/a`, { body: options }],
  ["a deletion of a collection", `DELETE ${maps}?labelSelector=no%3Dne`],
  ["a request's body alone", `POST ${secrets}`, { body: secret }],
  ["a conflict", `POST ${secrets}`, { body: secret }],
  ["a watch, its start and its end", `GET ${maps}?watch=1&timeoutSeconds=1&resourceVersion=0&labelSelector=no%3Dne`],
  ["a watch, its end only", "GET /api/v1/nodes?watch=1&timeoutSeconds=1"],
  ["no resource", "GET /version"],
  ["what the policy leaves out", "GET /healthz?verbose"],
  ["what it leaves out by verb", "GET /api/v1/namespaces/default/services/kubernetes"],
  ["what it leaves in of that", "GET /api/v1/namespaces/default/services?limit=0&labelSelector=no%3Dne"],
  ["somebody else's name", "GET /api/v1/namespaces/default/pods", { headers: { "impersonate-user": "bob" } }],
  [
    "somebody else's name, with all there is to it",
    "GET /api/v1/namespaces/default",
    { headers: { "impersonate-user": "bob", "impersonate-group": "system:masters", "impersonate-uid": "7" } },
  ],
  ["a subresource", "GET /apis/apps/v1/namespaces/default/deployments/none/scale"],
  ["its own id, and where it comes from", "GET /api", { headers: { "audit-id": "own", "x-forwarded-for": "9.9.9.9" } }],
];

describe("what is written down of requests", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  let bed: Bed;
  const agents = new Map<Site, Agent>();

  before(async () => {
    bed = await startTestBed({ sites: 2, components: "apiserver", kubernetes: ["1.36", "microkube"] });
    for (const site of bed.sites) {
      agents.set(site, new Agent({ keepAlive: true, ...tlsOf(site) }));
      await writeFile(file(site, "policy.yaml"), policy);
      const process = site.process("kube-apiserver");
      const { name, file: program, args } = process.record;
      await process.stop();
      site.removeProcess(name);
      const flags = [
        `--audit-policy-file=${file(site, "policy.yaml")}`,
        `--audit-log-path=${file(site, "audit.log")}`,
        "--audit-log-mode=blocking",
      ];
      await site.addProcess({ name, file: program, args: [...args, ...flags] }).start();
    }
    await Promise.all(bed.sites.map((site) => site.ready()));
  });

  after(async () => {
    for (const agent of agents.values()) agent.destroy();
    await bed?.stop();
  });

  for (const [what, line, sent] of requests) {
    it(what, async () => {
      const [real, own] = await Promise.all(bed.sites.map((site) => eventsOf(site, line, sent)));
      assert.deepEqual(own, real);
    });
  }

  it("credentials that are wrong", async () => {
    const events = bed.sites.map(async (site) => {
      const { ca } = tlsOf(site);
      const agent = new Agent({ ca });
      const headers = { authorization: "Bearer wrong" };
      try {
        return await eventsOf(site, "GET /api/v1/nodes", { headers }, agent);
      } finally {
        agent.destroy();
      }
    });
    const [real, own] = await Promise.all(events);
    assert.deepEqual(own, real);
    assert.equal(real?.length, 1);
  });

  async function eventsOf(site: Site, line: string, { body, headers }: Sent = {}, agent = agents.get(site)) {
    const before = (await log(site)).length;
    const [method = "", path = ""] = line.split(" ");
    const text = body === undefined ? "" : JSON.stringify(body);
    const type = body === undefined ? {} : { "content-type": "application/json", "content-length": text.length };
    await new Promise<void>((resolve, reject) => {
      const all = { "user-agent": MARK, ...type, ...headers };
      send(new URL(path, site.config.server), { method, headers: all, ...(agent && { agent }) }, (response) => {
        response.resume().on("end", resolve).on("error", reject);
      })
        .on("error", reject)
        .end(text);
    });
    const isNone = /healthz|services\/kubernetes/.test(path);
    // The real server writes a watch's end after its client has seen it.
    for (const until = Date.now() + 30_000; Date.now() < until; await sleep(systemClock, 20)) {
      const events = (await log(site)).slice(before);
      if (isNone || events.some(({ stage, user }) => stage === "ResponseComplete" || isEmpty(user))) {
        return events.map(normal);
      }
    }
    return (await log(site)).slice(before).map(normal);
  }
});

const isEmpty = (value: unknown) => Object.keys(value as object).length === 0;

function tlsOf(site: Site): { ca: string; cert: string; key: string } {
  const { ca = "", cert = "", key = "" } = site.config.tls as Record<string, string>;
  return { ca, cert, key };
}

function file(site: Site, name: string): string {
  return join(site.kubeconfig, "..", name);
}

async function log(site: Site): Promise<Event[]> {
  const text = await readFile(file(site, "audit.log"), "utf8");
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Event).filter(({ userAgent }) => userAgent === MARK);
}

const changing = new Set(["uid", "resourceVersion", "creationTimestamp", "stageTimestamp", "requestReceivedTimestamp"]);

/** The event without what differs from one server, and from one moment, to the other. */
function normal(event: Event): unknown {
  assert.match(String(event.stageTimestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  const text = JSON.stringify(event, (key, value: unknown) => {
    if (changing.has(key)) return typeof value;
    if (key === "authentication.kubernetes.io/credential-id" || key === "authenticationMetadata") return undefined;
    if (key === "auditID" && value !== "own") return String(value).length;
    if (typeof value === "string") return value.replace(/\bg-[a-z0-9]{5}\b/, "g-*");
    return value;
  });
  return JSON.parse(text);
}
