import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { CoreEvent, Pod } from "@fjord/kube";
import { findBinaries } from "@fjord/testbed";
import { realNodesSkip } from "@fjord/testbed/testing";
import { CriBed } from "../../lives/test-cri-bed.ts";
import { until } from "../../lives/test-life-bed.ts";
import { LifeChecks } from "../../lives/test-life-checks.ts";
import { uniqueImage } from "./testing/registry-image.ts";
import { type RegistryAccess, TestRegistry } from "./testing/test-registry.ts";
import { program } from "./testing.ts";

const password = "pa55-of-mia";
const stale = "pa55-of-old";
const privately: RegistryAccess = { kind: "bearer", users: { mia: password } };

type Status = NonNullable<Pod["status"]>;
type Spec = NonNullable<Pod["spec"]>;

describe("pods whose images are in a registry", { skip: realNodesSkip(), timeout: 180_000 }, () => {
  let bed: CriBed;
  let checks: LifeChecks;
  let pid: number;

  before(async () => {
    bed = await CriBed.start();
    checks = new LifeChecks(bed);
    pid = Number(readFileSync(join(dirname(dirname(bed.witnessDirectory)), "pid"), "utf8"));
  });
  after(async () => {
    try {
      if (bed !== undefined) await nobodyReadsPasswords();
    } finally {
      await bed?.[Symbol.asyncDispose]();
    }
  });

  async function nobodyReadsPasswords(): Promise<void> {
    const { items } = await bed.admin.list(CoreEvent, { namespace: bed.namespace });
    const pods = await bed.admin.list(Pod, { namespace: bed.namespace });
    const texts = [bed.node.logTail(100_000), JSON.stringify(items), JSON.stringify(pods.items)];
    assert.ok(items.length > 20);
    const forms = [password, stale].flatMap((secret) => [
      secret,
      Buffer.from(`mia:${secret}`).toString("base64"),
      Buffer.from(secret).toString("base64"),
    ]);
    for (const text of texts)
      assert.deepEqual(
        forms.filter((form) => text.includes(form)),
        [],
      );
  }

  const kubectl = async (...args: string[]) => {
    const file = findBinaries({ env: process.env }).binaries.path("kubectl");
    await promisify(execFile)(file, ["--kubeconfig", bed.site.kubeconfig, "--namespace", bed.namespace, ...args]);
  };

  const login = (name: string, registry: TestRegistry, secret: string) =>
    kubectl(
      ...["create", "secret", "docker-registry", name, `--docker-server=${registry.address}`],
      ...["--docker-username=mia", `--docker-password=${secret}`],
    );

  const push = async (registry: TestRegistry, name: string) =>
    registry.push(await uniqueImage(program("busybox")), name);

  const create = (name: string, image: string, imagePullPolicy: string | undefined, more: Partial<Spec> = {}) =>
    checks.create(name, {
      containers: [{ name: "main", image, ...(imagePullPolicy && { imagePullPolicy }) }],
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      ...more,
    } as Spec);

  const runs = (name: string) => checks.status(name, "to run", (status) => status.phase === "Running");
  const reason = (status: Status) => status.containerStatuses?.[0]?.state?.waiting?.reason;
  const waits = (name: string, why: string) =>
    checks.status(name, `to wait: ${why}`, (status) => reason(status) === why);

  /** `Pulling: Pulling image "…"`, each once. */
  async function events(name: string): Promise<string[]> {
    const fieldSelector = `involvedObject.name=${name}`;
    const { items } = await bed.admin.list(CoreEvent, { namespace: bed.namespace, fieldSelector });
    return items.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  const told = (name: string, ...patterns: RegExp[]) =>
    until(`${name} to tell ${patterns.join(", ")}`, async () => {
      const all = await events(name);
      return patterns.every((pattern) => all.some((event) => pattern.test(event)));
    });

  describe("all at once", { concurrency: true }, () => {
    test("are started with the password of their pull secrets, of which one is right", async () => {
      await using registry = await TestRegistry.start({ pid, access: privately });
      const image = await push(registry, "team/app:1");
      await login("stale", registry, stale);
      await login("right", registry, password);
      const secrets = [{ name: "missing" }, { name: "stale" }, { name: "right" }];
      await create("secret", image, undefined, { imagePullSecrets: secrets });
      await runs("secret");
      await told(
        "secret",
        /^Normal Pulling: Pulling image "127\.0\.0\.1:\d+\/team\/app:1"$/,
        /^Normal Pulled: Successfully pulled image "\S+" in [\d.]+s \([\d.]+s including waiting\)\. Image size: \d+ bytes\.$/,
      );
    });

    test("wait without a password, and are started once it is there", async () => {
      await using registry = await TestRegistry.start({ pid, access: { ...privately, kind: "basic" } });
      const image = await push(registry, "team/later:1");
      await create("later", image, undefined, { imagePullSecrets: [{ name: "later" }] });
      await waits("later", "ErrImagePull");
      await waits("later", "ImagePullBackOff");
      await told(
        "later",
        /^Warning Failed: Failed to pull image "\S+\/team\/later:1": .*401 Unauthorized/,
        /^Warning Failed: Error: ErrImagePull$/,
        /^Normal BackOff: Back-off pulling image "\S+\/team\/later:1"$/,
        /^Warning Failed: Error: ImagePullBackOff$/,
      );
      await login("later", registry, password);
      await runs("later");
    });

    for (const [name, fault] of [
      ["ill", { status: 500 }],
      ["cut", "cut"],
      ["absent", { status: 404 }],
    ] as const) {
      test(`are started once a registry has healed: ${name}`, async () => {
        await using registry = await TestRegistry.start({ pid });
        const image = await push(registry, `${name}:1`);
        registry.fault = fault;
        await create(name, image, "IfNotPresent");
        await waits(name, "ErrImagePull");
        const { status } = await waits(name, "ImagePullBackOff");
        const message = status?.containerStatuses?.[0]?.state?.waiting?.message ?? "";
        assert.match(message, /^Back-off pulling image "\S+": ErrImagePull: /);
        registry.fault = undefined;
        const { status: healed } = await runs(name);
        assert.equal(healed?.containerStatuses?.[0]?.restartCount, 0);
        assert.match(healed?.containerStatuses?.[0]?.imageID ?? "", /sha256:[0-9a-f]{64}$/);
      });
    }

    test("are pulled always, when needed, or never, as they ask", async () => {
      await using registry = await TestRegistry.start({ pid });
      const image = await push(registry, "policy:1");
      await create("never-there", image, "Never");
      await waits("never-there", "ErrImageNeverPull");
      await told(
        "never-there",
        /^Warning ErrImageNeverPull: Container image "\S+" is not present with pull policy of Never$/,
      );
      assert.equal(registry.pulls("policy:1"), 0);
      for (const [index, policy] of ["IfNotPresent", "Always", "IfNotPresent", "Never"].entries()) {
        await create(`policy-${index}`, image, policy);
        await runs(`policy-${index}`);
      }
      assert.equal(registry.pulls("policy:1"), 2);
      assert.equal(registry.fetches("policy"), 2, "a configuration and a layer, once");
      await told("policy-1", /^Normal Pulling/, /^Normal Pulled: Successfully pulled/);
      for (const name of ["policy-2", "policy-3"])
        await told(name, /^Normal Pulled: Container image "\S+" already present/);
      await runs("never-there");
    });

    test("of many pods at once are pulled once", async () => {
      await using registry = await TestRegistry.start({ pid });
      const image = await push(registry, "same");
      registry.fault = "silent";
      const names = Array.from({ length: 6 }, (_, index) => `same-${index}`);
      await Promise.all(names.map((name) => create(name, image, "Always")));
      for (const name of names) await told(name, /^Normal Pulling/);
      registry.fault = undefined;
      await Promise.all(names.map(runs));
      assert.equal(registry.pulls("same"), 1);
    });

    test("go with their pod while they are pulled", async () => {
      await using registry = await TestRegistry.start({ pid });
      const image = await push(registry, "unwanted:1");
      registry.fault = "silent";
      const { metadata } = await create("unwanted", image, undefined);
      await told("unwanted", /^Normal Pulling/);
      await checks.delete("unwanted");
      await until("the pod to go", async () => bed.remains(metadata.uid ?? "").length === 0);
    });
  });

  test("are pulled again by a node that was killed while it pulled", async () => {
    await using registry = await TestRegistry.start({ pid });
    const image = await push(registry, "killed:1");
    registry.fault = "silent";
    await create("killed", image, undefined);
    await until("the pull to begin", () => registry.pulls("killed:1") > 0);
    await bed.kill("node");
    registry.fault = undefined;
    await bed.start("node");
    const { status } = await runs("killed");
    assert.equal(status?.containerStatuses?.[0]?.restartCount, 0);
  });
});
