import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttp2Server } from "node:http2";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { systemClock } from "@fjord/base";
import { CriClient } from "./cri-client.ts";
import { RuntimeService } from "./proto/messages.ts";

suite("a runtime that cannot be used", () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "cri-"));
  });
  after(() => rm(directory, { recursive: true }));

  const call = async (socket: string) => {
    const client = new CriClient({ socket, clock: systemClock });
    try {
      return await client.call(RuntimeService.version, {}, { action: "ask for the version", timeout: 5000 });
    } finally {
      client.close();
    }
  };

  const listening = async (name: string, server: Server | ReturnType<typeof createHttp2Server>) => {
    const socket = join(directory, name);
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    return socket;
  };

  test("no socket", async () => {
    const socket = join(directory, "none");
    await assert.rejects(call(socket), { code: "CRI_SOCKET_MISSING", message: new RegExp(socket) });
  });

  test("a file that is no socket", async () => {
    const file = join(directory, "file");
    await writeFile(file, "");
    await assert.rejects(call(file), { code: "CRI_NOT_LISTENING" });
  });

  test("a socket that others may not open", {
    skip: process.getuid?.() === 0 && "root may open everything",
  }, async () => {
    const server = createServer();
    const socket = await listening("closed", server);
    await chmod(socket, 0);
    await assert.rejects(call(socket), { code: "CRI_PERMISSION_DENIED" });
    server.close();
  });

  test("someone who speaks something else", async () => {
    const server = createServer((connection) => connection.end("SSH-2.0-OpenSSH_9.2\r\n"));
    const socket = await listening("ssh", server);
    await assert.rejects(call(socket), (error: { code: string }) => /^CRI_(NOT_SUPPORTED|WENT_AWAY)$/.test(error.code));
    server.close();
  });

  test("a gRPC server without CRI v1", async () => {
    const server = createHttp2Server();
    server.on("stream", (stream) =>
      stream.respond(
        { ":status": 200, "grpc-status": "12", "grpc-message": "unknown service runtime.v1.RuntimeService" },
        { endStream: true },
      ),
    );
    const socket = await listening("old", server);
    await assert.rejects(call(socket), { code: "CRI_NOT_SUPPORTED", message: /CRI v1/ });
    server.close();
  });

  test("a refusal says what was attempted, and why not, in the runtime's words", async () => {
    const server = createHttp2Server();
    server.on("stream", (stream) =>
      stream.respond({ ":status": 200, "grpc-status": "2", "grpc-message": "disk is full" }, { endStream: true }),
    );
    const socket = await listening("full", server);
    await assert.rejects(call(socket), {
      code: "CRI_CALL_FAILED",
      status: 2,
      message: "cannot ask for the version: disk is full",
    });
    server.close();
  });
});
