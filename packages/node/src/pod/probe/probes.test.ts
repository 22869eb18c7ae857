import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import { type AddressInfo, createServer as createTcp, type Server } from "node:net";
import { describe, test } from "node:test";
import type { Container } from "../pod-containers.ts";
import { probeExec } from "./exec-probe.ts";
import { probeGrpc } from "./grpc-probe.ts";
import { probeHttp } from "./http-probe.ts";
import { httpTarget, portNumber } from "./http-target.ts";
import type { ProbeResult } from "./probe-result.ts";
import { probeTcp } from "./tcp-probe.ts";

const never = () => new AbortController().signal;
const soon = () => AbortSignal.timeout(150);
const container: Container = { name: "c", ports: [{ name: "web", containerPort: 8080 }] };

async function listening(server: Server, use: (port: number) => Promise<void>): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await use((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

function http(listener: RequestListener, use: (port: number) => Promise<void>): Promise<void> {
  return listening(createHttp(listener), use);
}

const probe = (port: number, path = "/", signal = never()): Promise<ProbeResult> =>
  probeHttp(httpTarget({ port, path }, container, "127.0.0.1", "probe"), signal);

describe("an HTTP probe", () => {
  for (const [status, outcome] of [
    [200, "success"],
    [204, "success"],
    [399, "success"],
    [400, "failure"],
    [503, "failure"],
  ] as const) {
    test(`takes ${status} for a ${outcome}`, () =>
      http(
        (_, response) => response.writeHead(status).end("body"),
        async (port) => {
          const result = await probe(port);
          assert.equal(result.outcome, outcome);
          if (outcome === "failure") assert.equal(result.message, `HTTP probe failed with statuscode: ${status}`);
        },
      ));
  }

  test("sends the pod's headers, and names itself", () =>
    http(
      (request, response) => {
        const { host, accept, "user-agent": agent, "x-own": own } = request.headers;
        response.end();
        assert.deepEqual(
          { host, accept, own, path: request.url },
          { host: "other", accept: "*/*", own: "1, 2", path: "/a?b=c" },
        );
        assert.match(agent ?? "", /^kube-probe\//);
      },
      async (port) => {
        const httpHeaders = [
          { name: "Host", value: "other" },
          { name: "X-Own", value: "1" },
          { name: "x-own", value: "2" },
        ];
        const target = httpTarget({ port, path: "a?b=c", httpHeaders }, container, "127.0.0.1", "probe");
        assert.equal((await probeHttp(target, never())).outcome, "success");
      },
    ));

  test("follows redirects on the same host only", () =>
    http(
      (request, response) => {
        if (request.url === "/here") response.writeHead(302, { location: "/bad" }).end();
        else if (request.url === "/away") response.writeHead(302, { location: "http://example.com/" }).end();
        else response.writeHead(500).end();
      },
      async (port) => {
        assert.equal((await probe(port, "/here")).outcome, "failure");
        const away = await probe(port, "/away");
        assert.equal(away.outcome, "success");
        assert.match(away.message, /terminated redirects/);
      },
    ));

  test("fails where nobody answers in time, or nobody listens", () =>
    http(
      () => {},
      async (port) => {
        const late = await probe(port, "/", soon());
        assert.equal(late.outcome, "failure");
        assert.match(late.message, /context deadline exceeded/);
        assert.equal((await probe(1)).outcome, "failure");
      },
    ));

  test("finds ports by their names", () => {
    assert.equal(portNumber("web", container), 8080);
    assert.equal(portNumber("81", container), 81);
    assert.throws(() => portNumber("none", container), /invalid port/);
    assert.equal(httpTarget({ port: "web" }, container, "fd00::1", "probe").url.href, "http://[fd00::1]:8080/");
  });
});

test("a TCP probe asks for a connection", async () => {
  await listening(createTcp(), async (port) => {
    assert.equal((await probeTcp("127.0.0.1", port, never())).outcome, "success");
  });
  const refused = await probeTcp("127.0.0.1", 1, never());
  assert.equal(refused.outcome, "failure");
  assert.match(refused.message, /^dial tcp 127.0.0.1:1: .*ECONNREFUSED/);
});

describe("a gRPC probe", () => {
  const asked: string[] = [];

  async function grpc(status: number, answer: number | undefined, use: (port: number) => Promise<void>): Promise<void> {
    const server = createHttp2();
    server.on("stream", (stream, headers) => {
      stream.on("data", (chunk: Buffer) => asked.push(`${headers[":path"]} ${chunk.subarray(7).toString()}`));
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () =>
        stream.sendTrailers({ "grpc-status": String(status), "grpc-message": "no%20way" }),
      );
      stream.end(answer === undefined ? Buffer.alloc(0) : Buffer.from([0, 0, 0, 0, 2, 8, answer]));
    });
    await listening(server, use);
  }

  test("succeeds where the service serves", () =>
    grpc(0, 1, async (port) => {
      assert.equal((await probeGrpc("127.0.0.1", port, "my.Service", never())).outcome, "success");
      assert.deepEqual(asked, ["/grpc.health.v1.Health/Check my.Service"]);
    }));

  test("fails where it does not", () =>
    grpc(0, 2, async (port) => {
      const { outcome, message } = await probeGrpc("127.0.0.1", port, "", never());
      assert.equal(outcome, "failure");
      assert.equal(message, 'service unhealthy (responded with "NOT_SERVING")');
    }));

  test("fails where it knows of no health, or no such service", async () => {
    await grpc(12, undefined, async (port) => {
      const { message } = await probeGrpc("127.0.0.1", port, "", never());
      assert.match(message, /does not implement the grpc health protocol/);
    });
    await grpc(5, undefined, async (port) => {
      assert.match((await probeGrpc("127.0.0.1", port, "", never())).message, /code = 5 desc = no way/);
    });
  });

  test("fails where nobody answers in time, or nobody listens", async () => {
    const sockets = new Set<import("node:net").Socket>();
    const silent = createTcp((socket) => sockets.add(socket));
    await listening(silent, async (port) => {
      const { outcome } = await probeGrpc("127.0.0.1", port, "", soon());
      assert.equal(outcome, "failure");
      for (const socket of sockets) socket.destroy();
    });
    assert.match((await probeGrpc("127.0.0.1", 1, "", never())).message, /failed to connect service/);
  });
});

describe("a command probe", () => {
  const command = ["test", "-f", "/x"];

  test("goes by the exit code, and tells the output", async () => {
    const runtime = {
      exec: async (_: string, __: readonly string[], streams: { stdout?: NodeJS.WritableStream }) => {
        streams.stdout?.write("not there");
        return 1;
      },
    };
    assert.deepEqual(await probeExec(runtime, "id", command, 1000, never()), {
      outcome: "failure",
      message: "not there",
    });
    assert.equal((await probeExec({ exec: async () => 0 }, "id", command, 1000, never())).outcome, "success");
  });

  test("that cannot be run tells nothing, one that takes too long is a failure", async () => {
    const broken = { exec: () => Promise.reject(new Error("gone")) };
    assert.deepEqual(await probeExec(broken, "id", command, 1000, never()), { outcome: "error", message: "gone" });
    const slow = {
      exec: (_: string, __: readonly string[], ___: unknown, signal?: AbortSignal) =>
        new Promise<number>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
    };
    const result = await probeExec(slow, "id", command, 150, soon());
    assert.deepEqual(result, { outcome: "failure", message: 'command timed out: "test -f /x" timed out after 0.15s' });
  });
});
