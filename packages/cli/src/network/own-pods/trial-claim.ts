import { describeError, sleep } from "@fjord/base";
import { ifNotFound, isAlreadyExists, isBeingDeleted, type KubeClient, Lease, Namespace } from "@fjord/kube";
import type { CommandContext } from "../../command-line/command-context.ts";
import { type Progress, waitFor } from "../../command-line/wait-for.ts";
import { TestNamespaceTaken, TestRuns } from "../../errors.ts";
import {
  renewTime,
  TEST_LABEL,
  TEST_LEASE,
  TEST_NAMESPACE,
  TEST_NAMESPACES,
  testLease,
  testNamespace,
} from "./trial-objects.ts";

const BEAT_MS = 2_000;
/** Who has not said for so long that it goes on was killed. */
const SILENCE_MS = 7_000;
/** How long what a test has made may take to go. Beyond it the agents go on by themselves. */
const REMOVAL_MS = 120_000;

/** The namespaces of a test, for as long as it goes on. One test at a time; what a killed one has left is removed first. */
export class TestClaim implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #context: CommandContext;
  readonly #stop = new AbortController();
  readonly #beats: Promise<void>;

  private constructor(client: KubeClient, context: CommandContext) {
    this.#client = client;
    this.#context = context;
    this.#beats = this.#beat();
  }

  static async make(client: KubeClient, context: CommandContext): Promise<TestClaim> {
    const { signal, note, clock } = context;
    if (await isLeft(client, context)) {
      note("what a test before this one has left is removed first\n");
      await removeNamespaces(client, signal, (progress) => note(`${progress}\n`));
    }
    const writing = { fieldManager: "fjord-cli", signal };
    const made: string[] = [];
    try {
      for (const name of TEST_NAMESPACES) {
        await client.create(Namespace, testNamespace(name), writing);
        made.push(name);
      }
      await client.create(Lease, testLease("fjord network test", clock.now()), writing);
    } catch (error) {
      // Another one was faster: the namespaces are its.
      if (isAlreadyExists(error) && made.length === 0) throw new TestRuns({}, { cause: error });
      // What was on its way when somebody interrupted it may have come.
      if (made.length > 0 || signal.aborted) await removeAtEnd(client, context);
      throw error;
    }
    return new TestClaim(client, context);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#beats;
    await removeAtEnd(this.#client, this.#context);
  }

  async #beat(): Promise<void> {
    const { clock, logger } = this.#context;
    const { signal } = this.#stop;
    const key = { name: TEST_LEASE, namespace: TEST_NAMESPACE };
    while (!signal.aborted) {
      await sleep(clock, BEAT_MS, signal);
      if (signal.aborted) return;
      const spec = { renewTime: renewTime(clock.now()) };
      await this.#client.patch(Lease, key, "merge", { spec }, { signal }).catch((error: unknown) => {
        // Another test finds out by its silence; this one by what it cannot do.
        if (!signal.aborted) logger.debug("a test cannot say that it goes on", { error: describeError(error) });
      });
    }
  }
}

/** Whether there is something of a test that is over. Throws where one goes on, or where somebody else has the name. */
async function isLeft(client: KubeClient, { signal, note, clock }: CommandContext): Promise<boolean> {
  const found = await Promise.all(
    TEST_NAMESPACES.map((name) => client.get(Namespace, { name }, { signal }).catch(ifNotFound)),
  );
  const there = found.filter((each) => each !== undefined);
  const strange = there.find(({ metadata }) => metadata.labels?.[TEST_LABEL] !== "true");
  if (strange !== undefined) throw new TestNamespaceTaken({ namespace: strange.metadata.name, label: TEST_LABEL });
  if (there.some((each) => !isBeingDeleted(each))) {
    const renewed = async () =>
      (await client.get(Lease, { name: TEST_LEASE, namespace: TEST_NAMESPACE }, { signal }).catch(ifNotFound))?.spec
        ?.renewTime;
    // There is none where another test has just begun.
    const before = await renewed();
    note("another test was here: does it go on?\n");
    await sleep(clock, SILENCE_MS, signal);
    signal.throwIfAborted();
    const now = await renewed();
    if (now !== undefined && now !== before) throw new TestRuns({});
  }
  return there.length > 0;
}

/** Also where the command was interrupted: with time of its own. */
async function removeAtEnd(client: KubeClient, { note, warn }: CommandContext): Promise<void> {
  note("what was brought for the test is removed\n");
  try {
    await removeNamespaces(client, new AbortController().signal, (progress) => note(`${progress}\n`));
  } catch (error) {
    warn(`what was brought for the test is not gone: ${describeError(error)}; the next test removes what is left\n`);
  }
}

async function removeNamespaces(
  client: KubeClient,
  signal: AbortSignal,
  told: (progress: string) => void,
): Promise<void> {
  await Promise.all(
    TEST_NAMESPACES.map(async (name) => {
      await client.delete(Namespace, { name }, { signal }).catch(ifNotFound);
      const what = `namespace ${name} was not gone`;
      await waitFor(client, Namespace, { name }, leaving, { signal, timeoutMs: REMOVAL_MS, what, told });
    }),
  );
}

/** What keeps a namespace, in the words of its API. */
function leaving(found: Namespace | undefined): Progress {
  if (found === undefined) return { done: true };
  const remaining = found.status?.conditions?.find(
    ({ type, status }) => type === "NamespaceFinalizersRemaining" && status === "True",
  );
  const left = remaining?.message === undefined ? "" : `: ${remaining.message}`;
  return { done: false, progress: `namespace ${found.metadata.name} is being removed${left}` };
}
