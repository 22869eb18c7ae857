import { createServer } from "node:net";
import { type Clock, defineError, sleep } from "@fjord/base";

export const GatewayAlreadyRuns = defineError(
  "GATEWAY_ALREADY_RUNS",
  "another gateway runs on this node, and two would undo what the other does",
  "Leave the links to it, or stop it first: `ss -xlp | grep fjord-gateway` names its process.",
);

/** In Linux's names of sockets that are no files: each network has its own, and one goes with whoever holds it, also where that is killed. */
const NAME = "\0fjord-gateway";

/** One that ends is waited for so long: its successor may have been started meanwhile. */
const PATIENCE_MS = 5_000;
const LOOK_MS = 250;

/** Makes this process the only gateway of the node, whose network two would change in turns. Refuses where another one is. Holds until it is disposed. */
export async function onlyGateway(
  clock: Clock,
  signal: AbortSignal,
  patienceMs = PATIENCE_MS,
  name = NAME,
): Promise<AsyncDisposable> {
  for (let waited = 0; ; waited += LOOK_MS) {
    const held = await hold(name);
    if (held !== undefined) return held;
    signal.throwIfAborted();
    if (waited >= patienceMs) throw new GatewayAlreadyRuns({});
    await sleep(clock, LOOK_MS, signal);
  }
}

/** Undefined where somebody else holds it. */
function hold(name: string): Promise<AsyncDisposable | undefined> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
    );
    server.listen({ path: name }, () =>
      resolve({ [Symbol.asyncDispose]: () => new Promise((closed) => server.close(() => closed())) }),
    );
  });
}
