import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { connect } from "node:tls";
import { promisify } from "node:util";
import { parse } from "yaml";
import { startMicrokube } from "../microkube.ts";

/** In a process of its own: one that shares this one's time is never so quick. */
const client = `
  const { Agent, request } = require("node:https");
  const { server, cert, key } = JSON.parse(process.argv[1]);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false, cert, key });
  const path = "/api/v1/namespaces/default/configmaps";
  const send = (method, of, body) => new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": body.length };
    const sent = request(server + of, { method, agent, headers }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode));
    });
    sent.on("error", reject);
    sent.end(body);
  });
  const large = (at) => JSON.stringify({ metadata: { name: "large" }, data: { a: "x".repeat(200000) + at } });
  (async () => {
    const codes = [await send("POST", path, large(0))];
    for (let at = 1; at <= 60; at++) codes.push(await send("PUT", path + "/large", large(at)));
    console.log(JSON.stringify([...new Set(codes)]));
    process.exit();
  })();
`;

test("a request that is told to go on is told so before its answer, also behind another request", async () => {
  await using microkube = await startMicrokube({ controllers: false, scheduler: false });
  const { user } = parse(microkube.kubeconfig).users[0];
  const pem = (field: string) => Buffer.from(user[field], "base64").toString();
  const [cert, key] = [pem("client-certificate-data"), pem("client-key-data")];
  const { hostname: host, port } = new URL(microkube.server);
  const socket = connect({ host, port: Number(port), cert, key, rejectUnauthorized: false });
  const head = `Host: ${host}\r\nAuthorization: \r\n`;
  socket.write(
    `GET /version HTTP/1.1\r\n${head}\r\nPUT /version HTTP/1.1\r\n${head}Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
  );
  const all = await text(socket);
  const [, ...later] = all.split("HTTP/1.1 ");
  assert.deepEqual(
    later.map((each) => each.slice(0, 3)),
    ["200", "100", "404"],
  );
  assert.equal(later[1], "100 Continue\r\n\r\n");
  assert.match(later[2] ?? "", /\r\n\r\n\{"kind":"Status"/);
});

test("large requests right after large answers are taken, each of them", async () => {
  await using microkube = await startMicrokube({ controllers: false, scheduler: false });
  const { user } = parse(microkube.kubeconfig).users[0];
  const pem = (field: string) => Buffer.from(user[field], "base64").toString();
  const [cert, key] = [pem("client-certificate-data"), pem("client-key-data")];
  const of = JSON.stringify({ server: microkube.server, cert, key });
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", client, of]);
  assert.deepEqual(JSON.parse(stdout), [201, 200]);
});
