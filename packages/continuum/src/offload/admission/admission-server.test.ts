import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Stream, connect } from "node:http2";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { AdmissionServer } from "./admission-server.ts";
import { newPair } from "./certificate-chain.ts";

const ADDRESS = "127.0.0.1";
const review = (uid: string) =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid, operation: "CREATE", namespace: "shop", object: {} },
  });

describe("the admission server", () => {
  const stop = new AbortController();
  let server: AdmissionServer;
  let run: Promise<void>;
  let ca: string;

  before(async () => {
    const tls = await newPair([ADDRESS], Date.now());
    ca = tls.cert;
    const reviews = { "/admission/pods": () => ({ allowed: true }) as const };
    server = new AdmissionServer({ host: ADDRESS, port: 0, tls, reviews, logger: silentLogger });
    await server.listen();
    run = server.run(stop.signal);
  });

  after(async () => {
    stop.abort();
    await run;
  });

  it("answers many questions at once over one connection", async () => {
    const session = connect(`https://${ADDRESS}:${server.address.port}`, { ca });
    const ask = async (path: string, body: string) => {
      const stream = session.request({ ":method": "POST", ":path": path });
      stream.end(body);
      const [[headers], said] = await Promise.all([once(stream, "response"), text(stream)]);
      return { status: headers[":status"], said };
    };
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => ask("/admission/pods?timeout=5s", review(`u${i}`))),
    );
    const uids = answers.map(({ said }) => (JSON.parse(said) as { response: { uid: string } }).response.uid);
    assert.deepEqual(
      uids,
      Array.from({ length: 200 }, (_, i) => `u${i}`),
    );
    assert.equal((await ask("/admission/nothing", review("x"))).status, 404);
    assert.equal((await ask("/admission/pods", "{")).status, 400);
    const large = `"${"x".repeat(9 * 1024 * 1024)}"`;
    assert.equal((await ask("/admission/pods", large)).status, 400);
    session.destroy();
  });

  it("goes on where a question is taken back", async () => {
    const session = connect(`https://${ADDRESS}:${server.address.port}`, { ca });
    const taken = Array.from({ length: 20 }, (_, i) => {
      const stream = session.request({ ":method": "POST", ":path": i % 2 === 0 ? "/admission/pods" : "/nothing" });
      stream.on("error", () => {});
      stream.write(review(`u${i}`).slice(0, i * 5));
      return stream;
    });
    await Promise.all(taken.map(({ pending }, i) => pending && once(taken[i] as ClientHttp2Stream, "ready")));
    for (const stream of taken) stream.close(8);
    const last = session.request({ ":method": "POST", ":path": "/admission/pods" });
    last.end(review("last"));
    assert.match(await text(last), /"uid":"last"/);
    session.destroy();
  });

  it("answers those that do not speak HTTP/2", async () => {
    const asked = request({ host: ADDRESS, port: server.address.port, ca, method: "POST", path: "/admission/pods" });
    asked.end(review("old"));
    const [answer] = await once(asked, "response");
    assert.match(await text(answer), /"uid":"old","allowed":true/);
  });

  it("stops though connections are open", async () => {
    const session = connect(`https://${ADDRESS}:${server.address.port}`, { ca });
    session.on("error", () => {});
    await once(session, "remoteSettings");
    stop.abort();
    await run;
  });
});
