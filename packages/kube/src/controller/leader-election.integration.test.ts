import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, afterEach, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type KubernetesMinor, kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { KubeClient } from "../client/client.ts";
import { Lease } from "../kinds/coordination.ts";
import { eventually } from "./test-wait.ts";

const program = fileURLToPath(new URL("./test-candidate.ts", import.meta.url));
const leaseMs = 3_000;

// They wait for leases to end, and do that together.
describe("leader election", { concurrency: true }, () => {
  for (const kubernetes of ["1.36", "1.35"] satisfies KubernetesMinor[]) {
    describe(`on Kubernetes ${kubernetes}`, { skip: kubernetesSkip(kubernetes), concurrency: 1 }, () =>
      tests(kubernetes),
    );
  }
});

interface Candidate {
  readonly process: ChildProcess;
  /** When it said that it leads. */
  readonly leads: number[];
  /** What else it said. */
  readonly words: string[];
  readonly exit: Promise<unknown[]>;
}

function tests(kubernetes: KubernetesMinor): void {
  let site: TestSite;
  let client: KubeClient;
  const candidates: Candidate[] = [];

  before(async () => {
    site = await startTestSite({ kubernetes });
    client = new KubeClient(site.config);
  });
  after(async () => {
    await client?.close();
    await site?.stop();
  });
  afterEach(async () => {
    for (const { process, exit } of candidates.splice(0)) {
      if (process.exitCode !== null || process.signalCode !== null) continue;
      process.kill("SIGKILL");
      await exit;
    }
  });

  async function join(identity: string): Promise<Candidate> {
    const child = spawn(process.execPath, [program, site.kubeconfig, identity], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const candidate: Candidate = { process: child, leads: [], words: [], exit: once(child, "exit") };
    candidates.push(candidate);
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [word = "", , at] = line.split(" ");
      if (word === "leads") candidate.leads.push(Number(at));
      else candidate.words.push(word);
    });
    await eventually(`${identity} runs`, () => candidate.words.includes("waits"));
    return candidate;
  }

  const leads = (candidate: Candidate) => eventually("it leads", () => candidate.leads.length > 5);

  /** By their own words, on the one clock of this machine. */
  function checkOneAtATime(first: Candidate, second: Candidate): void {
    const last = first.leads.at(-1) ?? 0;
    const next = second.leads[0] ?? 0;
    assert.ok(last < next, `the first led ${last - next} ms into the second's time`);
  }

  async function leaderAndOther(): Promise<[Candidate, Candidate]> {
    await client.delete(Lease, { name: "candidates", namespace: "default" }).catch(() => {});
    const leader = await join("one");
    await leads(leader);
    const other = await join("two");
    const seen = leader.leads.length;
    await eventually("the leader goes on", () => leader.leads.length > seen + 50);
    assert.deepEqual(other.leads, []);
    return [leader, other];
  }

  test("a leader that is killed is followed within the time of its lease, and not before", async () => {
    const [leader, other] = await leaderAndOther();
    leader.process.kill("SIGKILL");
    await leader.exit;
    const killedAt = leader.leads.at(-1) ?? 0;
    await leads(other);
    checkOneAtATime(leader, other);
    const gap = (other.leads[0] ?? 0) - killedAt;
    assert.ok(gap > leaseMs - 1_000, `after ${gap} ms: too soon, the lease was not over`);
    assert.ok(gap < leaseMs + 5_000, `after ${gap} ms: too late`);
    const lease = await client.get(Lease, { name: "candidates", namespace: "default" });
    assert.match(lease.spec?.holderIdentity ?? "", /^two_/);
    assert.equal(lease.spec?.leaseTransitions, 1);
  });

  test("a leader that is asked to stop is followed at once", async () => {
    const [leader, other] = await leaderAndOther();
    leader.process.kill("SIGTERM");
    assert.deepEqual(await leader.exit, [0, null]);
    await leads(other);
    checkOneAtATime(leader, other);
    const gap = (other.leads[0] ?? 0) - (leader.leads.at(-1) ?? 0);
    assert.ok(gap < leaseMs - 500, `after ${gap} ms: the lease was not freed`);
    assert.deepEqual(leader.words, ["waits", "stopped"]);
  });

  test("a leader that was frozen while another took over does not lead when it thaws", async () => {
    const [leader, other] = await leaderAndOther();
    leader.process.kill("SIGSTOP");
    await leads(other);
    leader.process.kill("SIGCONT");
    assert.deepEqual(await leader.exit, [1, null]);
    checkOneAtATime(leader, other);
    assert.deepEqual(leader.words, ["waits", "KUBE_LEADERSHIP_LOST"]);
  });

  test("a leader cut off from the API server stops by itself", async () => {
    const [leader, other] = await leaderAndOther();
    const apiServer = site.site.process("kube-apiserver");
    await apiServer.pause();
    try {
      assert.deepEqual(await leader.exit, [1, null]);
      assert.deepEqual(leader.words, ["waits", "KUBE_LEADERSHIP_LOST"]);
    } finally {
      await apiServer.resume();
    }
    await leads(other);
    checkOneAtATime(leader, other);
  });
}
