import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { Duplex, PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import type { TerminalSize } from "../../stream/command-streams.ts";
import { ProcessBench, shell, until } from "./testing.ts";

describe("commands in a pod of processes", () => {
  let bench: ProcessBench;
  let id: string;
  before(async () => {
    bench = await ProcessBench.open();
    ({ id } = await bench.start(["sleep", "1000"], { environment: [{ name: "GREETING", value: "hello there" }] }));
  });
  after(() => bench.close());

  async function run(command: readonly string[], input?: string, tty = false, sizes?: AsyncIterable<TerminalSize>) {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const outputs = Promise.all([text(stdout), text(stderr)]);
    const code = await bench.runtime.exec(id, command, {
      ...(input === undefined ? {} : { stdin: Readable.from([input]) }),
      stdout,
      ...(tty ? {} : { stderr }),
      tty,
      ...(sizes ? { sizes } : {}),
    });
    if (tty) stderr.end();
    const [out, err] = await outputs;
    return { code, out, err };
  }

  test("have its variables, streams and codes", async () => {
    assert.deepEqual(await run(shell("echo $GREETING; echo oops >/dev/stderr; exit 9")), {
      code: 9,
      out: "hello there\n",
      err: "oops\n",
    });
    const long = "x".repeat(300_000);
    assert.deepEqual(await run(["cat"], long), { code: 0, out: long, err: "" });
    const missing = await run(["nothing-of-the-kind"]);
    assert.equal(missing.code, 127);
    assert.match(missing.err, /nothing-of-the-kind/);
  });

  test("have their own codes, whatever else ends in the same moment", async () => {
    // The end of one process has Node look for others that have ended, before it has read what they told.
    const codes = await Promise.all(Array.from({ length: 60 }, () => run(["nothing-of-the-kind"])));
    assert.deepEqual(new Set(codes.map(({ code }) => code)), new Set([127]));
  });

  test("end with the command, whatever it leaves running", async () => {
    const result = await run(shell("sleep 1000 & echo started"));
    assert.deepEqual(result, { code: 0, out: "started\n", err: "" });
  });

  test("have a terminal that is resized", async () => {
    async function* sizes() {
      yield { columns: 123, rows: 45 };
    }
    const result = await run(
      shell("while [ \"$(stty size)\" != '45 123' ]; do sleep 0.02; done; stty size; tty; exit 4"),
      undefined,
      true,
      sizes(),
    );
    assert.equal(result.code, 4);
    assert.match(result.out, /45 123\r\n\/dev\/pts\/\d+\r\n/);
  });

  test("run for probes, and are killed when they take too long", async () => {
    assert.deepEqual(await bench.runtime.execSync(id, shell("echo a; echo b >&2; exit 2"), 5000), {
      exitCode: 2,
      output: "a\nb\n",
    });
    await assert.rejects(bench.runtime.execSync(id, ["sleep", "100"], 100), /took longer than 100 ms/);
  });

  test("forward ports", async () => {
    const { sandbox } = await bench.start(["sleep", "1000"]);
    const address = (await bench.runtime.list()).find((each) => each.id === sandbox)?.addresses[0];
    const server = createServer((socket: Socket) => socket.pipe(socket)).listen(0, address);
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const near = new PassThrough();
    const far = new PassThrough();
    const echoed = text(far);
    const done = bench.runtime.portForward(sandbox, port, Duplex.from({ readable: near, writable: far }));
    near.end("ping");
    assert.equal(await echoed, "ping");
    await done;
    server.close();
    await assert.rejects(bench.runtime.portForward(sandbox, port, new PassThrough()), /cannot connect to port/);
  });

  test("attach to input and output", async () => {
    const started = await bench.start(shell("while read line; do echo got $line; done; echo end of input"), {
      stdin: true,
      stdinOnce: true,
    });
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const output = text(stdout);
    const attached = bench.runtime.attach(started.id, { stdin, stdout, tty: false });
    stdin.write("one\n");
    stdin.end("two\n");
    await attached;
    assert.equal(await output, "got one\ngot two\nend of input\n");
    assert.equal((await bench.ended(started.id)).exitCode, 0);
  });

  test("attach to a terminal", async () => {
    const started = await bench.start(shell("tty; read line; echo got $line; exit 6"), { stdin: true, tty: true });
    await until(async () => bench.log(await bench.container(started.id)).length > 0, "terminal").catch(() => {});
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const output = text(stdout);
    const attached = bench.runtime.attach(started.id, { stdin, stdout, tty: true });
    stdin.write("hello\n");
    await attached;
    assert.match(await output, /got hello\r\n/);
    assert.equal((await bench.ended(started.id)).exitCode, 6);
  });

  test("are counted", async () => {
    const busy = await bench.start(shell("while :; do :; done"));
    const usage = await until(async () => {
      const { containers } = await bench.runtime.stats();
      const found = containers.find((container) => container.id === busy.id)?.usage;
      return found && (found.cpuNanoseconds ?? 0) > 1e7 ? found : undefined;
    }, "usage");
    assert.ok((usage.workingSetBytes ?? 0) > 10_000, JSON.stringify(usage));
  });
});
