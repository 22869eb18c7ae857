import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { afterEach, describe, test } from "node:test";
import { connect, createServer, type SecureContextOptions, type TLSSocket } from "node:tls";
import { silentLogger, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { selfSignedCertificate } from "@fjord/node/registration";
import { CertificateRefused } from "./errors.ts";
import { PeerTls, type PeerTlsOptions } from "./peer-tls.ts";
import { siteCertificate } from "./site-certificate.ts";
import { SiteKey } from "./site-key.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const [serverKey, clientKey, otherKey] = (await Promise.all([1, 2, 3].map(() => SiteKey.generate()))) as [
  SiteKey,
  SiteKey,
  SiteKey,
];

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

function peerTls(key: SiteKey, options: Partial<PeerTlsOptions> = {}): PeerTls {
  return new PeerTls({ key, clock: systemClock, logger: silentLogger, ...options });
}

async function listen(server: TcpServer): Promise<string> {
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUps.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that says who it thinks its clients are, then repeats what they say. */
async function serve(tls: PeerTls) {
  const server = createServer(tls.serverOptions(), (socket) => {
    socket.on("error", () => {});
    try {
      socket.write(`${tls.identify(socket).id}\n`);
      socket.pipe(socket);
    } catch (error) {
      socket.end(error instanceof CertificateRefused ? `${error.reason}\n` : `bug: ${error}\n`);
    }
  });
  tls.attach(server);
  return { endpoint: await listen(server), server };
}

async function line(socket: TLSSocket): Promise<string> {
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.endsWith("\n")) break;
  }
  return text.trim();
}

/** What the server says to a client with any certificate at all. */
async function whatItSaysTo(options: SecureContextOptions, clock = systemClock) {
  const reasons: string[] = [];
  const tls = peerTls(serverKey, { clock, refused: { inc: ({ reason }) => reasons.push(reason) } });
  const { endpoint } = await serve(tls);
  const socket = connect({
    port: Number(new URL(endpoint).port),
    host: "127.0.0.1",
    rejectUnauthorized: false,
    ...options,
  });
  cleanUps.push(() => socket.destroy());
  return { said: await line(socket), reasons };
}

function certificateOf(key: SiteKey, from: number, to: number): SecureContextOptions {
  return { key: key.toPem(), cert: siteCertificate(key, { from, to }) };
}

describe("TLS between agents", () => {
  test("both ends learn the id of the other", async () => {
    const { endpoint } = await serve(peerTls(serverKey));
    const tls = peerTls(clientKey);
    const socket = await tls.connect(endpoint, serverKey.id);
    cleanUps.push(() => socket.destroy());
    assert.deepEqual(tls.identify(socket), { id: serverKey.id, publicKey: serverKey.publicKey });
    assert.equal(await line(socket), clientKey.id);
    assert.equal(socket.getProtocol(), "TLSv1.3");
  });

  test("another site than the expected one is refused before anything is sent to it", async () => {
    let heard = "";
    const ended = Promise.withResolvers<void>();
    const server = createServer(peerTls(otherKey).serverOptions(), (socket) => {
      socket
        .on("error", () => {})
        .on("data", (chunk) => {
          heard += chunk;
        });
    });
    server.on("connection", (socket) => socket.on("close", () => ended.resolve()));
    const endpoint = await listen(server);
    const reasons: string[] = [];
    const tls = peerTls(clientKey, { refused: { inc: ({ reason }) => reasons.push(reason) } });
    await assert.rejects(tls.connect(endpoint, serverKey.id), (error: CertificateRefused) => {
      assert.equal(error.reason, "WrongKey");
      assert.match(error.message, new RegExp(otherKey.id));
      return true;
    });
    await ended.promise;
    assert.equal(heard, "");
    assert.deepEqual(reasons, ["WrongKey"]);
  });

  test("a client without a certificate is refused, and counted", async () => {
    const { said, reasons } = await whatItSaysTo({});
    assert.equal(said, "CertificateMissing");
    assert.deepEqual(reasons, ["CertificateMissing"]);
  });

  for (const [what, options, reason] of [
    ["an expired certificate", certificateOf(clientKey, Date.now() - 2 * DAY, Date.now() - HOUR), "Expired"],
    ["a certificate of tomorrow", certificateOf(clientKey, Date.now() + DAY, Date.now() + 2 * DAY), "NotYetValid"],
    ["a certificate named after another site", named(otherKey.id), "WrongKey"],
    ["a certificate with a second name", named(`${clientKey.id}\nCN=${otherKey.id}`), "WrongKey"],
    ["a key of another sort", ofCurve(), "Malformed"],
  ] as const) {
    test(`${what} is refused as ${reason}`, async () => {
      const { said, reasons } = await whatItSaysTo(options);
      assert.equal(said, reason);
      assert.deepEqual(reasons, [reason]);
    });
  }

  test("clocks may be some minutes apart", async () => {
    const MINUTE = 60_000;
    const late = certificateOf(clientKey, Date.now() - DAY, Date.now() - 2 * MINUTE);
    assert.equal((await whatItSaysTo(late)).said, clientKey.id);
    const early = certificateOf(clientKey, Date.now() + 2 * MINUTE, Date.now() + DAY);
    assert.equal((await whatItSaysTo(early)).said, clientKey.id);
  });

  test("a certificate that another key has signed is refused", async () => {
    const pem = siteCertificate(clientKey, { from: Date.now() - DAY, to: Date.now() + DAY });
    const bytes = Buffer.from(pem.replace(/-----.*-----|\n/g, ""), "base64");
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    const cert = `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64")}\n-----END CERTIFICATE-----\n`;
    assert.equal((await whatItSaysTo({ key: clientKey.toPem(), cert })).said, "BadSignature");
  });

  test("older TLS is not spoken", async () => {
    const { endpoint } = await serve(peerTls(serverKey));
    const old = { ...certificateOf(clientKey, Date.now() - DAY, Date.now() + DAY), maxVersion: "TLSv1.2" as const };
    const socket = connect({ port: Number(new URL(endpoint).port), rejectUnauthorized: false, ...old });
    await assert.rejects(once(socket, "secureConnect"));
  });

  test("a session that is taken up again is not believed", async () => {
    // A server as it would be with tickets, so that there is something to take up.
    const tls = peerTls(serverKey);
    const identified: string[] = [];
    const server = createServer({ ...tls.serverOptions(), secureOptions: 0 }, (socket) => {
      socket.on("error", () => {});
      try {
        identified.push(tls.identify(socket).id);
      } catch (error) {
        identified.push((error as CertificateRefused).reason);
      }
      socket.end("done\n");
    });
    const { port } = new URL(await listen(server));
    const options = {
      port: Number(port),
      rejectUnauthorized: false,
      ...certificateOf(clientKey, Date.now() - DAY, Date.now() + DAY),
    };
    const first = connect(options);
    const [session] = (await once(first, "session")) as [Buffer];
    await line(first);
    const second = connect({ ...options, session });
    await line(second);
    assert.equal(second.isSessionReused(), true);
    assert.deepEqual(identified, [clientKey.id, "SessionReused"]);
  });

  test("the server gives out no tickets that could be taken up", async () => {
    const { endpoint } = await serve(peerTls(serverKey));
    const options = {
      port: Number(new URL(endpoint).port),
      rejectUnauthorized: false,
      ...certificateOf(clientKey, Date.now() - DAY, Date.now() + DAY),
    };
    const first = connect(options);
    let session: Buffer | undefined;
    first.on("session", (given: Buffer) => (session = given));
    await line(first);
    first.write("more\n");
    await line(first);
    first.destroy();
    const second = connect({ ...options, session });
    cleanUps.push(() => second.destroy());
    assert.equal(await line(second), clientKey.id);
    assert.equal(second.isSessionReused(), false);
  });

  test("renewals change the certificate, and drop no connection", async () => {
    const clock = new ManualClock();
    const [serverTls, clientTls] = [peerTls(serverKey, { clock }), peerTls(clientKey, { clock })];
    const stop = new AbortController();
    const running = Promise.all([serverTls.run(stop.signal), clientTls.run(stop.signal)]);
    const { endpoint } = await serve(serverTls);
    const stream = await clientTls.connect(endpoint, serverKey.id);
    cleanUps.push(() => stream.destroy());
    assert.equal(await line(stream), clientKey.id);
    const seen = new Set<string>();
    for (let week = 0; week < 5; week++) {
      const fresh = await clientTls.connect(endpoint, serverKey.id);
      const plain = connect({ port: Number(new URL(endpoint).port), rejectUnauthorized: false });
      await once(plain, "secureConnect");
      seen.add(plain.getPeerX509Certificate()?.fingerprint256 ?? "");
      plain.destroy();
      assert.equal(await line(fresh), clientKey.id);
      fresh.destroy();
      stream.write(`week ${week}\n`);
      assert.equal(await line(stream), `week ${week}`);
      await clock.advance(7 * DAY);
    }
    assert.equal(seen.size, 5, "each week another certificate");
    assert.equal(clientTls.identify(stream).id, serverKey.id);
    stop.abort();
    await running;
    assert.equal(clock.pending, 0);
  });

  test("a certificate is renewed after two thirds of its life, and not before", async () => {
    const clock = new ManualClock();
    const tls = peerTls(serverKey, { clock, lifetimeMs: 9 * HOUR });
    const first = tls.certificate;
    await clock.advance(6 * HOUR - 1);
    assert.equal(tls.certificate, first);
    await clock.advance(1);
    const second = tls.certificate;
    assert.notEqual(second, first);
    let now = clock.now() - 30 * 60_000;
    const back = peerTls(serverKey, {
      clock: { now: () => now, after: clock.after.bind(clock) },
      lifetimeMs: 9 * HOUR,
    });
    const made = back.certificate;
    now -= 30 * 60_000;
    assert.equal(back.certificate, made, "a clock set back a little");
    now -= 2 * HOUR;
    assert.notEqual(back.certificate, made, "one that would not be valid yet");
  });

  test("a server that is closed is not given certificates any more", async () => {
    const clock = new ManualClock();
    const tls = peerTls(serverKey, { clock });
    const { server } = await serve(tls);
    let given = 0;
    const { setSecureContext } = server;
    server.setSecureContext = (...args) => {
      given++;
      setSecureContext.apply(server, args);
    };
    await clock.advance(5 * DAY);
    assert.ok(tls.certificate);
    assert.equal(given, 1);
    server.close();
    await once(server, "close");
    await clock.advance(5 * DAY);
    assert.ok(tls.certificate);
    assert.equal(given, 1);
  });

  test("who does not answer, or nobody, is unreachable in time; an abort is an abort", async () => {
    const silent = await listen(createTcpServer(() => {}));
    const tls = peerTls(clientKey);
    await assert.rejects(tls.connect(silent, serverKey.id, { timeoutMs: 30 }), { code: "PEER_UNREACHABLE" });
    const reason = new Error("enough");
    const stop = new AbortController();
    const connecting = tls.connect(silent, serverKey.id, { signal: stop.signal });
    stop.abort(reason);
    await assert.rejects(connecting, reason);
    await assert.rejects(tls.connect(silent, serverKey.id, { signal: stop.signal }), reason);
    const closing = createTcpServer((socket) => socket.destroy());
    await assert.rejects(tls.connect(await listen(closing), serverKey.id), { code: "PEER_UNREACHABLE" });
    const plain = createTcpServer((socket) => socket.on("error", () => {}).end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await assert.rejects(tls.connect(await listen(plain), serverKey.id), { code: "PEER_UNREACHABLE" });
    await assert.rejects(tls.connect("https://127.0.0.1:1", serverKey.id), { code: "PEER_UNREACHABLE" });
    await assert.rejects(tls.connect("http://127.0.0.1:1", serverKey.id), { code: "ENDPOINT_REFUSED" });
  });
});

function named(commonName: string): SecureContextOptions {
  const validity = { from: Date.now() - DAY, to: Date.now() + DAY };
  return {
    key: clientKey.toPem(),
    cert: selfSignedCertificate(clientKey.privateKey, { commonName }, [], validity, "peer"),
  };
}

function ofCurve(): SecureContextOptions {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const validity = { from: Date.now() - DAY, to: Date.now() + DAY };
  const cert = selfSignedCertificate(privateKey, { commonName: clientKey.id }, [], validity, "peer");
  return { key: privateKey.export({ type: "pkcs8", format: "pem" }) as string, cert };
}
