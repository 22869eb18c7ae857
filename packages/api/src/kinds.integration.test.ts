import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { request } from "node:https";
import { after, before, describe, it } from "node:test";
import { findBinaries } from "@fjord/testbed";
import { kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import {
  Contract,
  type DraftOf,
  type FjordKind,
  kinds,
  newObject,
  Offloading,
  ShadowPod,
  Site,
  VirtualNode,
} from "./index.ts";
import { customResourceDefinitions } from "./manifests.ts";
import { acceptedObjects } from "./testing/accepted.ts";
import { mergePatch } from "./testing/merge-patch.ts";
import { type Refusal, refusals } from "./testing/refused/index.ts";
import { reportedStatuses } from "./testing/reported.ts";

interface Answer {
  code: number;
  // biome-ignore lint/suspicious/noExplicitAny: objects of every kind, looked at field by field
  body: any;
}

for (const minor of ["1.36", "1.35"] as const) {
  describe(`Fjord's kinds on Kubernetes ${minor}`, { skip: kubernetesSkip(minor) }, () => {
    let site: TestSite;
    let kubectlPath: string;

    before(async () => {
      kubectlPath = findBinaries({ env: process.env, minors: [minor] }).binaries.path("kubectl", minor);
      site = await startTestSite({ kubernetes: minor });
      const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      for (const definition of customResourceDefinitions()) {
        const { code, body } = await call("POST", path, definition);
        assert.equal(code, 201, body.message);
      }
      await kubectl(
        "wait",
        "crd",
        "--for=condition=Established",
        "--timeout=60s",
        "-l",
        "app.kubernetes.io/part-of=fjord",
      );
      for (const kind of kinds) {
        const { code, body } = await make(kind);
        assert.equal(code, 201, `${kind.kind}: ${body.message}`);
      }
    });
    after(() => site?.stop());

    it("fills in the defaults that newObject fills in", async () => {
      for (const kind of kinds) {
        const { body } = await call("GET", pathOf(kind));
        assert.deepEqual(body.spec, newObject(kind, kind.example).spec, kind.kind);
      }
    });

    it("lets an Offloading say nothing at all", async () => {
      const { body } = await call("GET", pathOf(Offloading));
      assert.deepEqual(body.spec, {
        naming: { strategy: "Suffixed" },
        pods: "Both",
        sites: {},
        whenUnreachable: { action: "Evict" },
      });
    });

    describe("takes and gives back", () => {
      for (const { kind, draft } of acceptedObjects) {
        it(`everything that ${kind.plural} can say`, async () => {
          const object = newObject(kind as FjordKind, draft as DraftOf<FjordKind>);
          const { code, body } = await call("POST", `${collectionOf(kind, object)}?fieldValidation=Strict`, object);
          assert.equal(code, 201, body.message);
          assert.deepEqual(body.spec, object.spec);
          const status = reportedStatuses[kind.kind];
          const path = `${pathOf(kind, object)}/status?fieldValidation=Strict`;
          const reported = await call("PUT", path, { ...body, status });
          assert.equal(reported.code, 200, reported.body.message);
          assert.deepEqual(reported.body.status, status);
        });
      }
    });

    describe("refuses", () => {
      for (const refusal of refusals) {
        const { kind, what, from, change } = refusal;
        it(`${kind.kind}${from ? " changed to" : ":"} ${what}`, async () => {
          if (from === undefined) return assertRefused(await make(kind, change, "dryRun=All"), refusal);
          const made = await make(kind, from);
          assert.ok([201, 409].includes(made.code), made.body.message);
          assertRefused(await patch(pathOf(kind, mergePatch(kind.example, from) as Named), change), refusal);
        });
      }
    });

    it("lets a Site's id be set later, and a Contract go from Open to Ended", async () => {
      const named = { metadata: { name: "later" } };
      await make(Site, named);
      assert.equal((await patch(pathOf(Site, named), { spec: { id: "abcdefghijklmnopqrstuvwxyz" } })).code, 200);
      const contract = { metadata: { name: "c-later" } };
      await make(Contract, { ...contract, spec: { terms: { id: "c-later" } } });
      for (const standing of ["Cordoned", "Open", "Drained", "Ended"]) {
        assert.equal((await patch(pathOf(Contract, contract), { spec: { standing } })).code, 200, standing);
      }
    });

    it("takes the status from the status subresource only, and nothing else from there", async () => {
      const { body: made } = await make(VirtualNode, { metadata: { name: "quiet" }, status: { address: "10.0.0.1" } });
      assert.equal(made.status, undefined);
      const path = pathOf(VirtualNode, made);
      const { body: unchanged } = await patch(path, { status: { address: "10.0.0.1" } });
      assert.equal(unchanged.status, undefined);
      const both = { spec: { contract: "c-other" }, status: { address: "10.0.0.1" } };
      const { body: reported } = await patch(`${path}/status`, both);
      assert.equal(reported.status.address, "10.0.0.1");
      assert.equal(reported.spec.contract, "c-7f3kq2");
    });

    it("drops unknown fields, and refuses them where a client is strict", async () => {
      const change = { spec: { colour: "blue", sharing: { resorces: {} } } };
      const { body } = await make(Site, { metadata: { name: "pruned" }, ...change }, "dryRun=All");
      assert.equal(body.spec.colour, undefined);
      assert.equal(body.spec.sharing.resorces, undefined);
      const strict = await make(Site, { metadata: { name: "strict" }, ...change }, "fieldValidation=Strict");
      assert.equal(strict.code, 400);
      assert.match(strict.body.message, /unknown field "spec\.colour"/);
      assert.match(strict.body.message, /unknown field "spec\.sharing\.resorces"/);
    });

    it("keeps a shadow pod's pod as it is, but for what a pod's name and status would claim", async () => {
      const podSpec = {
        containers: [
          { name: "web", image: "web:1", env: [{ name: "A", value: "b" }], resources: { limits: { cpu: 1 } } },
        ],
        volumes: [{ name: "data", emptyDir: {} }],
        restartPolicy: "Never",
        futureField: { kept: true },
      };
      const pod = { metadata: { name: "x", labels: { app: "web" } }, spec: podSpec, status: { phase: "Running" } };
      const { body } = await make(ShadowPod, { metadata: { name: "web-1" }, spec: { pod } }, "dryRun=All");
      assert.deepEqual(body.spec.pod, { metadata: { labels: { app: "web" } }, spec: podSpec });
    });

    it("refuses conditions without a reason, and merges those of two managers", async () => {
      const condition = { type: "Ready", status: "True", message: "", lastTransitionTime: "2030-01-01T00:00:00Z" };
      const path = `${pathOf(Site)}/status`;
      const missing = await patch(path, { status: { conditions: [condition] } });
      assertRefused(missing, { field: "status.conditions[0].reason", words: "Required value" });
      for (const [manager, type] of [
        ["fjord-a", "Ready"],
        ["fjord-b", "Reachable"],
      ] as const) {
        const conditions = [{ ...condition, type, reason: "Serving" }];
        const object = { apiVersion: "fjord.dev/v1alpha1", kind: "Site", metadata: { name: "lively-wave" } };
        const applied = await call(
          "PATCH",
          `${path}?fieldManager=${manager}`,
          { ...object, status: { conditions } },
          "apply-patch+yaml",
        );
        assert.equal(applied.code, 200, applied.body.message);
      }
      const { body } = await call("GET", pathOf(Site));
      assert.deepEqual(body.status.conditions.map(({ type }: { type: string }) => type).sort(), ["Reachable", "Ready"]);
    });

    it("shows each kind's columns, and the wide ones when asked", async () => {
      for (const kind of kinds) {
        const expected = (wide: boolean) =>
          ["Name", ...kind.columns.filter((column) => wide || !column.wide).map((column) => column.name), "Age"]
            .join(" ")
            .toUpperCase();
        const [short, wide] = [await kubectl("get", kind.plural), await kubectl("get", kind.plural, "-o", "wide")];
        assert.equal(headings(short), expected(false));
        assert.equal(headings(wide), expected(true));
      }
      const contract = (await kubectl("get", "contract", "c-7f3kq2")).split("\n")[1] ?? "";
      assert.match(contract, /^c-7f3kq2 +Open +2030-01-02T00:00:00Z +4 +8Gi +\S+$/);
    });

    it("prints conditions, reasons and amounts from the status", async () => {
      const row = async (...args: string[]) => (await kubectl("get", ...args, "-o", "wide", "--no-headers")).trim();
      assert.match(await row("vno", "full"), /^full +7 +True +ProviderReady +1250m +nbswy\S+ +10\.0\.0\.1 +\S+$/);
      assert.match(await row("ofl", "-n", "kube-system"), /^offloading +Remote +Chosen +True +SomeTwinsNotReady +\S+$/);
      assert.match(await row("spo", "full"), /^full +Running +True +WithinContract +2 +7 +web-0 +\S+$/);
      assert.match(await row("oflr", "all"), /^all +Remote +3 +2 +True +Applied +\S+$/);
    });

    it("answers to short names and to the category", async () => {
      for (const kind of kinds) {
        for (const name of kind.shortNames)
          assert.match(
            await kubectl("get", name, "-o", "name"),
            new RegExp(`^${kind.kind.toLowerCase()}\\.fjord\\.dev/`),
          );
      }
      const all = await kubectl("get", "fjord", "-o", "name");
      for (const kind of kinds)
        assert.match(all, new RegExp(`^${kind.kind.toLowerCase()}\\.fjord\\.dev/${kind.example.metadata.name}$`, "m"));
    });

    it("is explained by kubectl in the words of the source", async () => {
      for (const kind of kinds) {
        const text = (await kubectl("explain", kind.plural)).replaceAll(/\s+/g, " ");
        assert.ok(text.includes(kind.purpose), text);
      }
      assert.match(await kubectl("explain", "contract.spec.terms.notAfter"), /When it ends, unless it is ended before/);
      assert.match(await kubectl("explain", "offloading.spec.pods"), /Local\s+Remote\s+Both\s+DESCRIPTION:/);
    });

    function make(kind: FjordKind, change: object = {}, query = ""): Promise<Answer> {
      const example = { apiVersion: "fjord.dev/v1alpha1", kind: kind.kind, ...kind.example };
      const object = mergePatch(example, change) as typeof example;
      return call("POST", `${collectionOf(kind, object)}?${query}`, object);
    }

    function patch(path: string, change: object): Promise<Answer> {
      return call("PATCH", path, change, "merge-patch+json");
    }

    function call(method: string, path: string, body?: unknown, type = "json"): Promise<Answer> {
      const { server, tls } = site.config;
      return new Promise((resolve, reject) => {
        const headers = { "content-type": `application/${type}` };
        const sent = request(new URL(path, server), { method, headers, ca: tls.ca, cert: tls.cert, key: tls.key });
        sent.on("error", reject);
        sent.on("response", async (response) => {
          let text = "";
          for await (const chunk of response.setEncoding("utf8")) text += chunk;
          resolve({ code: response.statusCode ?? 0, body: JSON.parse(text) });
        });
        sent.end(body === undefined ? undefined : JSON.stringify(body));
      });
    }

    function kubectl(...args: string[]): Promise<string> {
      return new Promise((resolve, reject) => {
        const env = { ...process.env, KUBECONFIG: site.kubeconfig };
        execFile(kubectlPath, args, { env }, (error, stdout, stderr) => {
          if (error) reject(new Error(`kubectl ${args.join(" ")}: ${stderr}`));
          else resolve(stdout);
        });
      });
    }
  });
}

type Named = { metadata: { name?: string; namespace?: string } };

function collectionOf(kind: FjordKind, { metadata }: Named = kind.example): string {
  return `/apis/fjord.dev/v1alpha1/${metadata.namespace ? `namespaces/${metadata.namespace}/` : ""}${kind.plural}`;
}

function pathOf(kind: FjordKind, object: Named = kind.example): string {
  return `${collectionOf(kind, object)}/${object.metadata.name}`;
}

function headings(table: string): string {
  return (table.split("\n")[0] ?? "").trim().replaceAll(/\s+/g, " ");
}

function assertRefused({ code, body }: Answer, { field, words }: Pick<Refusal, "field" | "words">): void {
  assert.equal(code, 422, `expected a refusal, got ${code} ${body.message ?? ""}`);
  const causes: { field: string; message: string }[] = body.details.causes;
  const fitting = causes.filter((cause) => cause.field === field).map((cause) => cause.message);
  assert.ok(
    fitting.some((message) => message.includes(words)),
    `no refusal of ${field} with "${words}" in:\n${causes.map((cause) => `${cause.field}: ${cause.message}`).join("\n")}`,
  );
}
