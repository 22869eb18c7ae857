import assert from "node:assert/strict";
import { sleep, systemClock } from "@fjord/base";
import { ifNotFound, Node, Pod } from "@fjord/kube";
import type { LifeBed } from "./test-life-bed.ts";
import { until } from "./test-life-bed.ts";
import { taskLines, Witness } from "./test-witness.ts";

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

interface Expected {
  readonly starts: number;
  /** @default one less than starts */
  readonly restarts?: number;
}

/** A runtime that was killed had no more lines in its hands than a container writes at once. */
const IN_HANDS = 3;

/** Looks at pods from the outside: through the API, at what they wrote, and at the machine. */
export class LifeChecks {
  readonly #bed: LifeBed;

  constructor(bed: LifeBed) {
    this.#bed = bed;
  }

  async create(name: string, spec: NonNullable<Pod["spec"]>, annotations: Record<string, string> = {}): Promise<Pod> {
    const { namespace, nodeName, admin } = this.#bed;
    const pod: Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, annotations },
      spec: { nodeName, ...spec },
    };
    return admin.create(Pod, pod);
  }

  get(name: string): Promise<Pod> {
    return this.#bed.admin.get(Pod, { name, namespace: this.#bed.namespace });
  }

  async delete(name: string, gracePeriodSeconds?: number): Promise<void> {
    const key = { name, namespace: this.#bed.namespace };
    await this.#bed.admin.delete(Pod, key, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds });
  }

  witness(pod: Pod): Witness {
    return new Witness(this.#bed.witnessDirectory, uidOf(pod));
  }

  async nodeReady(): Promise<void> {
    const { admin, nodeName, node } = this.#bed;
    await until(
      "the node to be ready",
      async () => {
        const { status } = await admin.get(Node, { name: nodeName });
        return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True");
      },
      { more: () => node.logTail(25) },
    );
  }

  #startedTooOften(text: string, pod: Pod, status: ContainerStatus | undefined): string {
    const marks = this.witness(pod).files().join(" ");
    return `${text} was started so often: ${JSON.stringify(status)}\n${marks}\n${this.#bed.node.logTail(60)}`;
  }

  /** Waits until the API says what is asked of the pod's status. */
  status(name: string, what: string, holds: (status: NonNullable<Pod["status"]>) => unknown): Promise<Pod> {
    let last: Pod | undefined;
    return until(
      `${name} ${what}`,
      async () => {
        last = await this.get(name);
        return last.status !== undefined && holds(last.status) ? last : undefined;
      },
      {
        more: () => `${JSON.stringify(last?.status)}\n${last && this.#onMachine(last)}\n${this.#bed.node.logTail(25)}`,
      },
    );
  }

  /** What the machine has of the pod, whatever the node or its runtime say. */
  #onMachine(pod: Pod): string {
    const { containers, sandboxes } = this.#bed.running(uidOf(pod));
    const ended = containerNames(pod).filter((name) => this.witness(pod).has(`${name}.ends`));
    return `what runs: ${containers.join(", ") || "no container"}, ${sandboxes} sandboxes; what has ended: ${ended.join(", ")}`;
  }

  ready(name: string): Promise<Pod> {
    return this.status(name, "ready", ({ conditions = [] }) =>
      conditions.some((condition) => condition.type === "Ready" && condition.status === "True"),
    );
  }

  async gone(pod: Pod): Promise<void> {
    const { name = "" } = pod.metadata;
    let last: Pod | undefined;
    await until(
      `${name} to be gone`,
      async () => {
        last = await this.get(name).catch(ifNotFound);
        return last?.metadata.uid !== pod.metadata.uid;
      },
      { more: () => `${JSON.stringify(last)}\n${this.#bed.node.logTail(25)}` },
    );
    await this.nothingRemains(pod);
  }

  async nothingRemains(pod: Pod): Promise<void> {
    await until(`nothing to remain of ${pod.metadata.name}`, () => this.#bed.remains(uidOf(pod)).length === 0, {
      more: () => `${this.#bed.remains(uidOf(pod)).join("\n")}\n${this.#bed.node.logTail(25)}`,
    });
    for (const name of containerNames(pod)) assert.deepEqual(this.witness(pod).overlaps(name), [], `${name} ran twice`);
  }

  /** The runtime has no more than the pods of the API need. */
  async nothingTooMuch(): Promise<void> {
    const { admin, nodeName } = this.#bed;
    const { items } = await admin.list(Pod, { fieldSelector: `spec.nodeName=${nodeName}` });
    await until(`no more than ${items.length} pods need`, () => this.#bed.surplus(items.length).length === 0, {
      more: () => `${this.#bed.surplus(items.length).join("\n")}\n${this.#bed.node.logTail(25)}`,
    });
  }

  /** What the API says that runs is what runs, once what failed to start is cleared away. */
  async runsAsTold(name: string): Promise<void> {
    let last = "";
    const look = async () => {
      const pod = await this.get(name);
      const told = statuses(pod)
        .filter(({ state }) => state?.running)
        .map(({ containerID = "" }) => containerID.slice(containerID.indexOf("//") + 2));
      const { containers } = this.#bed.running(uidOf(pod));
      last = `what runs: ${containers.join(", ")}\nwhat the API says: ${told.join(", ")}`;
      return containers.length === told.length && told.every((id) => containers.includes(id));
    };
    await until(`${name} to run as the API says`, look, {
      seconds: 45,
      more: () => `${last}\n${this.#bed.node.logTail(25)}`,
    });
  }

  /**
   * The container began once, or once more where it was restarted, never while an earlier start still lived; and each
   * line of its log is there once and in order.
   */
  async lived(pod: Pod, container: string, expected: Expected): Promise<void> {
    const witness = this.witness(pod);
    const text = `${pod.metadata.name}/${container}`;
    const starts = await this.#starts(pod, container, expected.starts);
    assert.deepEqual(witness.overlaps(container), [], `${text} ran twice at once`);
    const { restarts = expected.starts - 1 } = expected;
    const status = await this.#restarted(pod, container, restarts);
    assert.equal(starts.length, expected.starts, this.#startedTooOften(text, pod, status));
    assert.equal(status?.restartCount, restarts, `${text} was restarted so often`);
    const told = JSON.stringify(status);
    await this.#logIsWhole(pod, container, starts.at(-1) ?? "", { previous: false, told });
    const previous = starts.at(-2);
    if (previous !== undefined) await this.#logIsWhole(pod, container, previous, { previous: true, told });
  }

  /**
   * As `lived`, where the runtime may have been killed: it forgets what it was about to start, or ends it when it comes back.
   * One start more than was to be is borne only where it is counted, and where the API says of the one before that it was
   * ended so. Its logs lack at most what the runtime had in its hands.
   */
  async livedThrough(pod: Pod, container: string, least: number, runtimeDied: boolean): Promise<void> {
    if (!runtimeDied) return await this.lived(pod, container, { starts: least });
    const tokens = await this.#starts(pod, container, least);
    const { length: starts } = tokens;
    const status = statuses(await this.get(pod.metadata.name ?? "")).find(({ name }) => name === container);
    const restarts = status?.restartCount ?? -1;
    const text = `${pod.metadata.name}/${container} began ${starts} times: ${JSON.stringify(status)}`;
    assert.deepEqual(this.witness(pod).overlaps(container), [], `${text}, and ran twice at once`);
    const isPlain = starts === least && restarts === least - 1;
    const isAgain = starts === least + 1 && restarts === least && wasKilled(status?.lastState?.terminated);
    assert.ok(isPlain || isAgain, text);
    const which = { told: JSON.stringify(status), mayLack: IN_HANDS };
    await this.#logIsWhole(pod, container, tokens.at(-1) ?? "", { previous: false, ...which });
    const previous = tokens.at(-2);
    if (previous !== undefined) await this.#logIsWhole(pod, container, previous, { previous: true, ...which });
  }

  /** What the API says of the container, once it tells of as many restarts: it may have been away, and hears of them later. */
  async #restarted(pod: Pod, container: string, restarts: number): Promise<ContainerStatus | undefined> {
    const end = systemClock.now() + 30_000;
    for (;;) {
      const status = statuses(await this.get(pod.metadata.name ?? "")).find(({ name }) => name === container);
      if (status?.restartCount === restarts || systemClock.now() > end) return status;
      await sleep(systemClock, 50);
    }
  }

  /** Tokens of the container's starts, once there are as many as there have to be: a program that runs says so later. */
  async #starts(pod: Pod, container: string, least: number): Promise<string[]> {
    const look = () => this.witness(pod).starts(container);
    const end = systemClock.now() + 30_000;
    while (look().length < least && systemClock.now() < end) await sleep(systemClock, 50);
    return look();
  }

  /** Whether a runtime that was killed has taken a task with it that runs once; then it has failed, and has not begun again. */
  async wasLost(pod: Pod): Promise<boolean> {
    const { name = "" } = pod.metadata;
    const { status } = await this.status(name, "over", ({ phase }) => phase === "Succeeded" || phase === "Failed");
    const end = status?.containerStatuses?.[0]?.state?.terminated;
    if (status?.phase !== "Failed" || !wasKilled(end)) return false;
    assert.equal(this.witness(pod).starts("task").length, 1, `${name} ran so often: ${JSON.stringify(end)}`);
    return true;
  }

  async #logIsWhole(
    pod: Pod,
    container: string,
    token: string,
    which: { previous: boolean; told: string; mayLack?: number },
  ): Promise<void> {
    const { previous, told, mayLack = 0 } = which;
    const witness = this.witness(pod);
    const written = witness.written(container, token);
    const text = `the log of ${pod.metadata.name}/${container}${previous ? " before" : ""}`;
    // A line that is noted as about to be written may never have been, and what was may still be on its way.
    const lines = await until(
      `${text} to have the ${written} lines that were written`,
      async () => {
        const found = await this.logs(pod, container, previous);
        return found.length >= written - 1 - mayLack && found;
      },
      { seconds: 15, more: () => `${told}\n${this.#bed.node.logTail(10)}` },
    );
    assertOrdered(lines, { token, mayLack, text });
    assert.ok(lines.length <= witness.written(container, token), `${text} has no line twice`);
  }

  /** As `kubectl logs` gives them. */
  async logs(pod: Pod, container: string, previous = false): Promise<string[]> {
    const { admin, namespace } = this.#bed;
    const path = `/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}/log`;
    // A serving certificate and a connection may have gone with the process before.
    const body = await until(
      `logs of ${pod.metadata.name}/${container}`,
      async () => (await admin.raw("GET", path, { query: { container, previous } })).body.toString() || " ",
      { seconds: 20 },
    );
    return body.split("\n").slice(0, -1);
  }

  /** A task that must run once has run once and to its end; its log lacks at most what a runtime that died had in its hands. */
  async ranOnce(pod: Pod, runtimeDied = false): Promise<void> {
    const { name = "" } = pod.metadata;
    const over = await this.status(name, "over", ({ phase }) => phase === "Succeeded" || phase === "Failed");
    const starts = this.witness(pod).starts("task");
    assert.equal(starts.length, 1, `${name} ran so often`);
    assert.equal(over.status?.phase, "Succeeded", `${name}: ${JSON.stringify(over.status)}`);
    const lines = await this.logs(pod, "task");
    const mayLack = runtimeDied ? IN_HANDS : 0;
    const text = `the log of ${name}`;
    assertOrdered(lines, { token: starts[0] ?? "", mayLack, text });
    assert.ok(lines.length >= taskLines - mayLack && lines.length <= taskLines, `${text} has ${lines.length} lines`);
  }
}

/** Each line once and in order; those that are lacking are so in one place. */
function assertOrdered(lines: readonly string[], of: { token: string; mayLack: number; text: string }): void {
  const { token, mayLack, text } = of;
  const numbers = lines.map((line) =>
    line.startsWith(`${token} `) ? Number(line.slice(token.length + 1)) : Number.NaN,
  );
  const steps = numbers.map((number, index) => number - (numbers[index - 1] ?? 0)).filter((step) => step !== 1);
  const isWhole = steps.length === 0 || (steps.length === 1 && steps.every((step) => step > 1 && step - 1 <= mayLack));
  assert.ok(isWhole, `${text} is in order and whole:\n${lines.join("\n")}`);
}

export function uidOf(pod: Pod): string {
  return pod.metadata.uid ?? "";
}

/** Killed, or in a state that the runtime does not know any more. */
function wasKilled(end: { exitCode: number } | undefined): boolean {
  return end?.exitCode === 137 || end?.exitCode === 255;
}

function statuses({ status }: Pod): ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

function containerNames({ spec }: Pod): string[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ name }) => name);
}
