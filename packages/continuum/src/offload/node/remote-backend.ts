import type { Duplex } from "node:stream";
import { type Clock, describeError } from "@fjord/base";
import { ApiError, ConnectionError, type Pod } from "@fjord/kube";
import type { ContainerAddress, KubeletBackend, LogRequest, Summary } from "@fjord/node/kubelet-api";
import type { OffloadedPod, OffloadedPods } from "../../offloaded-pods.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { GuestAway, GuestMissing, GuestRefused } from "./errors.ts";

type CommandStreams = Parameters<KubeletBackend["exec"]>[2];

const SOON_MS = 300;
const LONGEST_REASON = 2048;

export interface RemoteBackendOptions {
  readonly node: string;
  readonly pods: OffloadedPods;
  readonly remote: () => RemoteSite | undefined;
  readonly summary: (signal: AbortSignal) => Promise<Summary>;
  readonly clock: Clock;
}

/** The kubelet API of a virtual node: what is asked of a pod here is asked of its guest there. */
export class RemoteBackend implements KubeletBackend {
  readonly #options: RemoteBackendOptions;

  constructor(options: RemoteBackendOptions) {
    this.#options = options;
  }

  pods(): readonly Pod[] {
    return this.#options.pods.onNode(this.#options.node).map(({ pod }) => pod);
  }

  async logs(address: ContainerAddress, request: LogRequest, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { remote, key } = await this.#guest(address, signal);
    const { follow, previous, timestamps, tailLines, since, limitBytes, stream } = request;
    const chunks = remote.kube.log(key, {
      container: address.container,
      follow,
      previous,
      timestamps,
      ...(tailLines !== undefined && { tailLines }),
      ...(since !== undefined && { sinceTime: new Date(since).toISOString() }),
      ...(limitBytes !== undefined && { limitBytes }),
      ...(stream !== undefined && { stream: stream === "stdout" ? "Stdout" : "Stderr" }),
      signal,
    });
    const first = this.#plainly(chunks.next());
    await (follow ? this.#soon(first) : first);
    return goOn(first, chunks);
  }

  async exec(
    address: ContainerAddress,
    command: readonly string[],
    streams: CommandStreams,
    signal: AbortSignal,
  ): Promise<number> {
    const { remote, key } = await this.#guest(address, signal);
    const options = { command: [...command], container: address.container, ...remoteStreams(streams), signal };
    const { exitCode } = await this.#plainly(remote.kube.exec(key, options));
    return exitCode;
  }

  async attach(address: ContainerAddress, streams: CommandStreams, signal: AbortSignal): Promise<void> {
    const { remote, key } = await this.#guest(address, signal);
    const options = { container: address.container, ...remoteStreams(streams), signal };
    await this.#plainly(remote.kube.attach(key, options));
  }

  async portForward(
    pod: Omit<ContainerAddress, "container">,
    port: number,
    stream: Duplex,
    signal: AbortSignal,
  ): Promise<void> {
    const { remote, key } = await this.#guest(pod, signal);
    const far = await this.#plainly(remote.kube.portForward(key, { port, signal }));
    await join(stream, far, signal);
  }

  summary(signal: AbortSignal): Promise<Summary> {
    return this.#options.summary(signal);
  }

  healthy(): void {
    const { remote, node } = this.#options;
    const site = remote();
    if (site === undefined) throw new Error(`the site behind ${node} is not known`);
    if (!site.reachability.reachable) throw new Error(site.reachability.message);
  }

  /** Waits for an answer that may come much later, but not for one that is there at once: most refusals are. */
  async #soon(answer: Promise<unknown>): Promise<void> {
    let cancel = () => {};
    const enough = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(SOON_MS, resolve);
    });
    try {
      await Promise.race([answer, enough]);
    } finally {
      cancel();
    }
  }

  /** What fails there, in words and with a status that kubectl's user understands. */
  async #plainly<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ApiError) {
        const said = error.status?.message ?? error.message;
        throw new GuestRefused(error.statusCode, said.slice(0, LONGEST_REASON), { cause: error });
      }
      if (error instanceof ConnectionError)
        throw new GuestAway({ node: this.#options.node, reason: describeError(error) }, { cause: error });
      throw error;
    }
  }

  async #guest(
    { namespace, pod, uid }: Omit<ContainerAddress, "container">,
    signal: AbortSignal,
  ): Promise<{ remote: RemoteSite; key: { name: string; namespace: string } }> {
    const { pods, node } = this.#options;
    const found = pods.get(namespace, pod);
    const remote = this.#options.remote();
    if (
      found === undefined ||
      !isThis(found, node, uid) ||
      found.twinNamespace === undefined ||
      remote === undefined ||
      (await this.#plainly(Promise.resolve(pods.isPreceded?.(found, signal) ?? false)))
    )
      throw new GuestMissing({ pod: `${namespace}/${pod}`, node });
    return { remote, key: { name: pod, namespace: found.twinNamespace } };
  }
}

/** The chunks after the first, once that is there. */
async function* goOn(
  first: Promise<IteratorResult<Uint8Array, void>>,
  rest: AsyncGenerator<Uint8Array, void, void>,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for (let next = await first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return();
  }
}

function isThis({ pod, node }: OffloadedPod, name: string, uid: string | undefined): boolean {
  return node.name === name && (uid === undefined || pod.metadata.uid === uid);
}

/** The same streams in the words of the client. */
function remoteStreams({ stdin, stdout, stderr, tty, sizes }: CommandStreams) {
  return {
    tty,
    ...(stdin && { stdin }),
    ...(stdout && { stdout }),
    ...(stderr && { stderr }),
    ...(sizes && { resize: resizes(sizes) }),
  };
}

async function* resizes(sizes: NonNullable<CommandStreams["sizes"]>) {
  for await (const { columns, rows } of sizes) yield { width: columns, height: rows };
}

/** Joins two connections until one is gone: either side may say all it has to say long before the other has. */
function join(near: Duplex, far: Duplex, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error) => {
      signal.removeEventListener("abort", leave);
      far.destroy();
      if (!near.writableEnded) near.end();
      // Of the far side kubectl is told why; a near side that went away hears nothing any more.
      if (error === undefined) resolve();
      else reject(error);
    };
    const leave = () => done();
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) return leave();
    far.on("error", done).once("close", leave);
    near.on("error", leave).once("close", leave);
    far.pipe(near);
    near.pipe(far);
  });
}
