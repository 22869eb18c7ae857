// One process of load, told what to do by the benchmark: everything is prepared before the word to go.
import { createSecureContext } from "node:tls";
import { Connection, WatchConnection } from "./connection.ts";
import { type Job, type LoadAnswer, type LoadMessage, type LoadTarget, requestBytes, watchBytes } from "./requests.ts";

const target = JSON.parse(process.env.FJORD_BENCH_TARGET ?? "") as LoadTarget;
const secureContext = createSecureContext({ ca: target.ca, cert: target.cert, key: target.key });

/** Work that waits for the word; gives how many bytes came. */
type Prepared = () => Promise<number>;

async function prepareRequests(job: Exclude<Job, { kind: "watch" }>, count: number): Promise<Prepared> {
  const connections: Connection[] = [];
  for (let i = 0; i < count; i++) connections.push(await Connection.open(target.host, target.port, secureContext));
  const requests = Array.from({ length: job.count }, (_, index) => requestBytes(job, index));
  const expected = job.kind === "create" ? 201 : 200;
  return async () => {
    let next = 0;
    const work = async (connection: Connection) => {
      for (let bytes = requests[next++]; bytes !== undefined; bytes = requests[next++]) {
        const status = await connection.request(bytes);
        if (status !== expected) throw new Error(`a ${job.kind} was answered with ${status}`);
      }
    };
    await Promise.all(connections.map(work));
    const bytes = connections.reduce((sum, connection) => sum + connection.bytes, 0);
    for (const connection of connections) connection.close();
    return bytes;
  };
}

async function prepareWatches(watchers: number, writes: number): Promise<Prepared> {
  const all = Promise.withResolvers<void>();
  const watches: WatchConnection[] = [];
  let satisfied = 0;
  const done = new Set<WatchConnection>();
  const counted = (watch: WatchConnection) => {
    if (watch.events < writes || done.has(watch)) return;
    done.add(watch);
    if (++satisfied === watchers) all.resolve();
  };
  const request = watchBytes();
  for (let i = 0; i < watchers; i++)
    watches.push(await WatchConnection.open(target.host, target.port, secureContext, request, counted));
  return async () => {
    await all.promise;
    const bytes = watches.reduce((sum, watch) => sum + watch.bytes, 0);
    const tooMany = watches.filter(({ events }) => events !== writes).length;
    for (const watch of watches) watch.close();
    if (tooMany > 0) throw new Error(`${tooMany} watchers were told of more than ${writes} writes`);
    return bytes;
  };
}

let prepared: Prepared | undefined;

async function obey(message: LoadMessage): Promise<LoadAnswer | undefined> {
  if (message.do === "end") {
    process.disconnect();
    return undefined;
  }
  if (message.do === "prepare") {
    const { job, connections } = message;
    prepared = await (job.kind === "watch"
      ? prepareWatches(job.watchers, job.writes)
      : prepareRequests(job, connections));
    return { is: "prepared" };
  }
  const before = process.cpuUsage();
  const bytes = (await prepared?.()) ?? 0;
  const { user, system } = process.cpuUsage(before);
  return { is: "done", bytes, cpuSeconds: (user + system) / 1e6 };
}

process.on("message", (message: LoadMessage) => {
  obey(message).then(
    (answer) => answer && process.send?.(answer),
    (error: unknown) => process.send?.({ is: "failed", reason: String(error) } satisfies LoadAnswer),
  );
});
