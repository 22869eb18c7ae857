import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { newObject, OFFLOADED_LABEL, Offloading, OffloadingRule } from "@fjord/api";
import type { KubeObject } from "@fjord/base";
import { ApiError, apiErrorFromBody, type Namespace, type Pod } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { AdmissionRequest } from "./admission-review.ts";
import { KnownOffloadings } from "./known-offloadings.ts";
import { reviewQuestion } from "./label-question.ts";
import { NamespaceAdmission } from "./namespace-admission.ts";
import { OffloadingAdmission } from "./offloading-admission.ts";
import { PodAdmission } from "./pod-admission.ts";

const offloading = (pods: "Local" | "Remote" | "Both", more: object = {}): Offloading =>
  newObject(Offloading, { metadata: { name: "offloading", namespace: "shop", ...more }, spec: { pods } });
const rule = (labels: Record<string, string>): OffloadingRule =>
  newObject(OffloadingRule, {
    metadata: { name: "shops" },
    spec: { namespaceSelector: { matchLabels: labels }, template: { pods: "Remote" } },
  });
const namespace = (labels: Record<string, string> = {}): Namespace => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "shop", labels },
});
const pod: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "shop" },
  spec: { containers: [] },
};

/** What the watches show and what the API has, each as a test says: the one may lag behind the other. */
class FakeHome {
  now = 0;
  readonly shown = new Map<string, KubeObject>();
  readonly stored = new Map<string, KubeObject>();
  reads = 0;
  labelled: string[] = [];
  /** How many questions come before the API server sees the label. */
  lateBy = 0;
  questions = 0;

  get home(): Home {
    const cache = (kind: string) => ({
      get: () => this.shown.get(kind),
      list: () => [this.shown.get(kind)].filter((each) => each !== undefined),
    });
    return {
      namespace: "agents",
      random: () => 0,
      clock: {
        now: () => this.now,
        after: (ms: number, act: () => void) => {
          // Whoever waits for a moment gets it at once; nobody's patience ends.
          if (ms < 1_000) queueMicrotask(act);
          return () => {};
        },
      },
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      caches: { open: ({ kind }: { kind: string }) => ({ cache: cache(kind) }) },
      client: {
        get: async ({ kind }: { kind: string }) => {
          this.reads++;
          const found = this.stored.get(kind);
          if (found === undefined) throw new ApiError({ action: "get it", statusCode: 404, text: "not found" });
          return found;
        },
        patch: async (_: unknown, key: { name: string }) => {
          this.labelled.push(key.name);
        },
        create: async () => {
          this.questions++;
          if (this.questions <= this.lateBy) return;
          const { allowed, message } = reviewQuestion() as { allowed: false; message: string };
          assert.equal(allowed, false);
          const body = {
            kind: "Status",
            code: 403,
            reason: "Forbidden",
            message: `admission webhook denied the request: ${message}`,
          };
          throw apiErrorFromBody("create it", 403, JSON.stringify(body));
        },
      },
    } as unknown as Home;
  }
}

describe("what holds for the pods of a namespace", () => {
  let fake: FakeHome;
  let known: KnownOffloadings;

  beforeEach(() => {
    fake = new FakeHome();
    known = new KnownOffloadings(fake.home);
  });

  const pods = async () => (await known.specFor("shop"))?.pods;

  it("believes no new Offloading while the old one is still going, however often it is tried", async () => {
    const going = offloading("Remote", { deletionTimestamp: "2030-01-01T00:00:00Z" });
    fake.shown.set("Offloading", going);
    fake.stored.set("Offloading", going);
    known.admitted("shop", offloading("Both").spec);
    assert.equal(await known.specFor("shop"), undefined);
    fake.stored.set("Offloading", offloading("Both"));
    known.admitted("shop", offloading("Both").spec);
    assert.equal((await known.specFor("shop"))?.pods, "Both");
  });

  it("is what the watch shows", async () => {
    fake.shown.set("Offloading", offloading("Both"));
    assert.equal(await pods(), "Both");
    assert.equal(fake.reads, 0, "nothing is read for it");
  });

  it("is what was admitted, until the watch shows it", async () => {
    fake.shown.set("Offloading", offloading("Both"));
    known.admitted("shop", offloading("Remote").spec);
    assert.equal(await pods(), "Remote");
    fake.shown.set("Offloading", offloading("Remote"));
    assert.equal(await pods(), "Remote");
    fake.shown.set("Offloading", offloading("Local"));
    assert.equal(await pods(), "Local", "what comes after it is not held back");
  });

  it("is nothing from the moment in which its deletion was admitted", async () => {
    fake.shown.set("Offloading", offloading("Both"));
    known.admitted("shop", undefined);
    assert.equal(await pods(), undefined);
  });

  it("is not what was admitted and never came to be", async () => {
    known.admitted("shop", offloading("Remote").spec);
    fake.now += 60_000;
    fake.shown.set("Offloading", offloading("Both"));
    assert.equal(await pods(), "Both");
  });

  it("is asked of the API where the watch shows nothing, such as what another agent has admitted", async () => {
    fake.stored.set("Offloading", offloading("Remote"));
    assert.equal(await pods(), "Remote");
    fake.stored.set("Offloading", offloading("Remote", { deletionTimestamp: "2026-01-01T00:00:00Z" }));
    assert.equal(await pods(), undefined);
  });

  it("is a rule's template while its Offloading is yet to be made", async () => {
    fake.shown.set("OffloadingRule", rule({ team: "shop" }));
    fake.stored.set("Namespace", namespace({ team: "shop" }));
    assert.equal(await pods(), "Remote");
    fake.stored.set("Namespace", namespace({ team: "other" }));
    assert.equal(await pods(), undefined);
  });
});

describe("admission", () => {
  let fake: FakeHome;
  let known: KnownOffloadings;
  const ask = (operation: AdmissionRequest["operation"], object: object, more: object = {}): AdmissionRequest => {
    const { metadata } = object as KubeObject;
    const { name, namespace } = metadata;
    return { uid: "u", operation, object, ...(name && { name }), ...(namespace && { namespace }), ...more } as never;
  };
  const placed = async () => new PodAdmission(known).review(ask("CREATE", pod));

  beforeEach(() => {
    fake = new FakeHome();
    known = new KnownOffloadings(fake.home);
  });

  it("of an Offloading labels its namespace, and holds for the next pod", async () => {
    const offloadings = new OffloadingAdmission(fake.home, known);
    assert.deepEqual(await offloadings.review(ask("CREATE", offloading("Remote"))), { allowed: true });
    assert.deepEqual(fake.labelled, ["shop"]);
    const verdict = await placed();
    assert.deepEqual(verdict.allowed && verdict.patch?.map(({ path }) => path), [
      "/spec/affinity",
      "/spec/tolerations",
    ]);
    await offloadings.review(ask("DELETE", offloading("Remote")));
    fake.shown.set("Offloading", offloading("Remote"));
    assert.deepEqual(await placed(), { allowed: true });
  });

  it("of an Offloading waits until the API server itself sees the label", async () => {
    fake.lateBy = 3;
    const offloadings = new OffloadingAdmission(fake.home, known);
    assert.deepEqual(await offloadings.review(ask("CREATE", offloading("Remote"))), { allowed: true });
    assert.equal(fake.questions, 4);
  });

  it("does nothing for a dry run, another name, or what no schema would take", async () => {
    const offloadings = new OffloadingAdmission(fake.home, known);
    await offloadings.review(ask("CREATE", offloading("Remote"), { dryRun: true }));
    await offloadings.review(ask("CREATE", offloading("Remote", { name: "other" })));
    const broken = {
      ...offloading("Remote"),
      spec: { pods: "Remote", sites: { matchLabels: 5, matchExpressions: 7 } },
    };
    await offloadings.review(ask("CREATE", broken));
    assert.deepEqual(fake.labelled, []);
    assert.deepEqual(await placed(), { allowed: true });
  });

  it("of a namespace labels it where a rule matches that was admitted a moment ago", async () => {
    const offloadings = new OffloadingAdmission(fake.home, known);
    const namespaces = new NamespaceAdmission(known, "agents");
    const label = { op: "add", path: "/metadata/labels/fjord.dev~1offloaded", value: "true" };
    assert.deepEqual(namespaces.review(ask("CREATE", namespace({ team: "shop" }))), { allowed: true });
    await offloadings.reviewRule(ask("CREATE", rule({ team: "shop" })));
    assert.deepEqual(namespaces.review(ask("CREATE", namespace({ team: "shop" }))), { allowed: true, patch: [label] });
    assert.deepEqual(namespaces.review(ask("CREATE", namespace({ team: "other" }))), { allowed: true });
    const labelled = namespace({ team: "shop", [OFFLOADED_LABEL]: "true" });
    assert.deepEqual(namespaces.review(ask("UPDATE", labelled)), { allowed: true });
    await offloadings.reviewRule(ask("DELETE", rule({ team: "shop" })));
    assert.deepEqual(namespaces.review(ask("CREATE", namespace({ team: "shop" }))), { allowed: true });
    const refused = rule({ team: "shop" });
    refused.spec.template.reflection = [{ group: "", resource: "secret", policy: "Never" }];
    assert.equal((await offloadings.reviewRule(ask("CREATE", refused))).allowed, false);
    assert.deepEqual(namespaces.review(ask("CREATE", namespace({ team: "shop" }))), { allowed: true });
  });
});
