import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createServer, type TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { selfSignedCertificate } from "@fjord/node/registration";
import { leanMemory, leanSettings } from "./lean-start.ts";

const MB = 1024 * 1024;
const ANSWER = 200_000;

/** Opens a hundred connections, reads an answer over each, closes them, and says how much more memory it takes than before. */
const PROGRAM = `
const { connect, createSecureContext } = process.getBuiltinModule("node:tls");
const { once } = process.getBuiltinModule("node:events");
const options = { port: Number(process.argv[1]), secureContext: createSecureContext({ ca: [] }), rejectUnauthorized: false };
const resident = () => (gc({ type: "major", flavor: "last-resort" }), process.memoryUsage.rss());
async function meet(count) {
  const sockets = [];
  for (let index = 0; index < count; index++) {
    const socket = connect(options);
    sockets.push(socket);
    for (let left = ${ANSWER}; left > 0; ) left -= (await once(socket, "data"))[0].length;
  }
  await Promise.all(sockets.map((socket) => once(socket.destroy(), "close")));
}
await meet(1);
const before = resident();
await meet(100);
console.log(resident() - before);
`;

test("connections that are closed give back nearly all that they took of an agent's memory", {
  skip: process.platform !== "linux",
}, async () => {
  const { privateKey } = generateKeyPairSync("ed25519");
  const validity = { from: Date.now() - 60_000, to: Date.now() + 3_600_000 };
  const cert = selfSignedCertificate(privateKey, { commonName: "anybody" }, [], validity, "peer");
  const key = privateKey.export({ type: "pkcs8", format: "pem" });
  const server = createServer({ cert, key }, (socket: TLSSocket) => {
    // Who asks ends it without a word.
    socket.on("error", () => {});
    socket.write(Buffer.alloc(ANSWER));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const args = [...leanSettings.run, "--input-type=module", "-e", PROGRAM, String(port)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...leanMemory } });
    // It was 13 MB where only what is larger than such buffers lay apart, and is 5.
    assert.ok(Number(stdout) < 9 * MB, `${(Number(stdout) / MB).toFixed(1)} MB were kept`);
  } finally {
    server.close();
  }
});
