import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { PassThrough, Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { clusterConfig } from "../config/direct-config.ts";
import { attach, exec } from "./exec.ts";
import { type ServedStream, startStreamServer } from "./test-stream-server.ts";

const v4 = "v4.channel.k8s.io";
const target = { namespace: "ns", pod: "web", command: ["cat"] };

/** Collects what is written to it. */
function sink() {
  const stream = new PassThrough();
  const content = text(stream);
  const finish = () => {
    stream.end();
    return content;
  };
  return { stream, content: finish };
}

/** `cat`: gives back what it gets, and ends with its input. */
function cat(stream: ServedStream): void {
  for (const channel of [1, 2, 3]) stream.send(channel, "");
  stream.onFrame = (channel, data) => {
    if (channel === 0) stream.send(1, data);
    if (channel === 255 && data[0] === 0) stream.exit(0);
  };
}

describe("exec", () => {
  it("asks for the command, container and streams, and gives output and exit code", async () => {
    let asked: URL | undefined;
    await using server = await startStreamServer({
      serve(stream) {
        asked = stream.url;
        stream.send(1, "out");
        stream.send(2, "err");
        stream.send(1, "put");
        stream.exit(3);
      },
    });
    const [stdout, stderr] = [sink(), sink()];
    const config = clusterConfig({ server: `${server.url}/kube/tenant/`, namespace: "own" });
    const command = ["sh", "-c", "echo a & b+c=ü"];
    const result = await exec(config, {
      pod: "web",
      container: "main",
      command,
      stdout: stdout.stream,
      stderr: stderr.stream,
    });
    assert.deepEqual(result, { exitCode: 3 });
    assert.equal(await stdout.content(), "output");
    assert.equal(await stderr.content(), "err");
    assert.equal(asked?.pathname, "/kube/tenant/api/v1/namespaces/own/pods/web/exec");
    assert.deepEqual(asked?.searchParams.getAll("command"), command);
    assert.deepEqual(
      [...(asked?.searchParams ?? [])].filter(([name]) => name !== "command"),
      [
        ["container", "main"],
        ["stdout", "true"],
        ["stderr", "true"],
      ],
    );
  });

  it("tells the end of the input, so that the command can end", async () => {
    await using server = await startStreamServer({ serve: cat });
    const stdout = sink();
    const config = clusterConfig({ server: server.url });
    const stdin = Readable.from([Buffer.from("hello "), Buffer.from("world")]);
    assert.deepEqual(await exec(config, { ...target, stdin, stdout: stdout.stream }), { exitCode: 0 });
    assert.equal(await stdout.content(), "hello world");
  });

  it("gives an empty input its end too", async () => {
    await using server = await startStreamServer({ serve: cat });
    const ended = Readable.from([]);
    ended.resume();
    while (!ended.readableEnded) await setImmediate();
    for (const stdin of [Readable.from([]), ended]) {
      assert.deepEqual(await exec(clusterConfig({ server: server.url }), { ...target, stdin }), { exitCode: 0 });
    }
  });

  it("falls back to the fourth version, which cannot tell the end of the input", async () => {
    let chosen = "";
    await using server = await startStreamServer({
      protocols: [v4],
      serve(stream) {
        chosen = stream.socket.protocol;
        stream.onFrame = (channel, data) => {
          assert.equal(channel, 0);
          stream.send(1, data);
          if (data.toString().includes("quit")) stream.exit(7);
        };
      },
    });
    const stdout = sink();
    const stdin = Readable.from([Buffer.from("quit")]);
    const result = await exec(clusterConfig({ server: server.url }), { ...target, stdin, stdout: stdout.stream });
    assert.deepEqual(result, { exitCode: 7 });
    assert.equal(chosen, v4);
    assert.equal(await stdout.content(), "quit");
  });

  it("says when the server speaks neither", async () => {
    await using server = await startStreamServer({ protocols: ["v9.channel.k8s.io"] });
    await assert.rejects(exec(clusterConfig({ server: server.url }), target), {
      code: "KUBE_STREAM_PROTOCOL",
      message: `cannot run a command in Pod ns/web at ${server.url}: Server sent no subprotocol`,
    });
  });

  it("carries a terminal: no separate errors, and its sizes as they change", async () => {
    const sizes: string[] = [];
    let asked: URL | undefined;
    await using server = await startStreamServer({
      serve(stream) {
        asked = stream.url;
        stream.onFrame = (channel, data) => {
          assert.equal(channel, 4);
          if (sizes.push(data.toString()) === 2) stream.exit(0);
        };
      },
    });
    async function* resize() {
      yield { width: 80, height: 24 };
      yield { width: 120, height: 50 };
      await new Promise(() => {});
    }
    const [stdout, stderr] = [sink(), sink()];
    await exec(clusterConfig({ server: server.url }), {
      ...target,
      tty: true,
      resize: resize(),
      stdout: stdout.stream,
      stderr: stderr.stream,
    });
    assert.deepEqual(sizes, ['{"Width":80,"Height":24}', '{"Width":120,"Height":50}']);
    assert.equal(asked?.searchParams.get("tty"), "true");
    assert.equal(asked?.searchParams.get("stderr"), null);
  });

  it("keeps every byte of a large exchange while both sides are slow", async () => {
    await using server = await startStreamServer({ serve: cat });
    const sent = createHash("sha256");
    const got = createHash("sha256");
    let [given, taken, ahead] = [0, 0, 0];
    const total = 24 * 1024 * 1024;
    const stdin = new Readable({
      read() {
        const chunk = given < total ? randomBytes(100_000) : null;
        if (chunk !== null) sent.update(chunk);
        given += chunk?.length ?? 0;
        ahead = Math.max(ahead, given - taken);
        this.push(chunk);
      },
    });
    const stdout = new Writable({
      highWaterMark: 16 * 1024,
      write(chunk: Buffer, _, done) {
        got.update(chunk);
        taken += chunk.length;
        setImmediate().then(() => done());
      },
    });
    assert.deepEqual(await exec(clusterConfig({ server: server.url }), { ...target, stdin, stdout }), { exitCode: 0 });
    assert.equal(taken, given);
    assert.equal(got.digest("hex"), sent.digest("hex"));
  });

  it("is not over before the output has taken everything", async () => {
    await using server = await startStreamServer({
      serve(stream) {
        stream.send(1, "last words");
        stream.exit(0);
      },
    });
    let take: (() => void) | undefined;
    const stdout = new Writable({
      write(_, __, done) {
        take = done;
      },
    });
    let over = false;
    const running = exec(clusterConfig({ server: server.url }), { ...target, stdout }).then((result) => {
      over = true;
      return result;
    });
    while (take === undefined || server.connections > 0) await setImmediate();
    for (let turn = 0; turn < 10; turn++) await setImmediate();
    assert.equal(over, false);
    take();
    assert.deepEqual(await running, { exitCode: 0 });
  });

  it("reads no more than the output takes", async () => {
    let unsent = 0;
    const total = 256 * 1024 * 1024;
    await using server = await startStreamServer({
      serve(stream) {
        const block = Buffer.alloc(64 * 1024);
        const more = () => {
          for (; unsent < total && stream.socket.bufferedAmount < 1024 * 1024; unsent += block.length)
            stream.send(1, block);
          if (unsent < total && stream.socket.readyState === stream.socket.OPEN) stream.socket.send(Buffer.of(1), more);
        };
        more();
      },
    });
    let release: (() => void) | undefined;
    const stdout = new Writable({
      write(_, __, done) {
        release = done;
      },
    });
    const abort = new AbortController();
    const running = exec(clusterConfig({ server: server.url }), { ...target, stdout, signal: abort.signal });
    const outcome = running.catch((error: unknown) => error);
    // The server stops making progress once the kernel's buffers are full.
    for (let before = -1; before !== unsent || release === undefined; ) {
      before = unsent;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(unsent < 64 * 1024 * 1024, `${unsent} bytes were taken in`);
    assert.ok(stdout.writableLength < 1024 * 1024, `${stdout.writableLength} bytes wait in the output`);
    abort.abort(new Error("enough"));
    assert.equal(((await outcome) as Error).message, "enough");
  });

  it("stops taking input that the server does not read", async () => {
    await using server = await startStreamServer({ serve: (stream) => stream.socket.pause() });
    let given = 0;
    const stdin = new Readable({
      read() {
        given += 65536;
        this.push(Buffer.alloc(65536));
      },
    });
    const abort = new AbortController();
    const running = exec(clusterConfig({ server: server.url }), { ...target, stdin, signal: abort.signal });
    const outcome = running.catch((error: unknown) => error);
    for (let before = -1; before !== given || given === 0; ) {
      before = given;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(given < 64 * 1024 * 1024, `${given} bytes were taken`);
    abort.abort(new Error("enough"));
    assert.equal(((await outcome) as Error).message, "enough");
    assert.equal(stdin.destroyed, false);
    assert.equal(stdin.listenerCount("data"), 0);
  });
});

describe("attach", () => {
  it("joins the streams of the container itself", async () => {
    let asked: URL | undefined;
    await using server = await startStreamServer({
      serve(stream) {
        asked = stream.url;
        cat(stream);
      },
    });
    const stdout = sink();
    const config = clusterConfig({ server: server.url });
    const stdin = Readable.from([Buffer.from("hello")]);
    assert.deepEqual(await attach(config, { pod: "web", container: "main", stdin, stdout: stdout.stream }), {
      exitCode: 0,
    });
    assert.equal(await stdout.content(), "hello");
    assert.equal(
      `${asked?.pathname}${asked?.search}`,
      "/api/v1/namespaces/default/pods/web/attach?container=main&stdin=true&stdout=true",
    );
  });
});
