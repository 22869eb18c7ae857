import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { Authority } from "./certificates.ts";

test("a certificate names its subject, groups and addresses, and its authority vouches for it", async (t) => {
  const directory = await temporary(t);
  const authority = await Authority.create(directory, "ca", Date.now());
  const pair = await authority.issueTo(
    directory,
    "admin",
    {
      commonName: "admin",
      organizations: ["system:masters", "others"],
      addresses: ["127.0.0.1"],
      dnsNames: ["localhost"],
    },
    Date.now(),
  );
  const issued = new X509Certificate(pair.certificate);
  const loaded = await Authority.load(directory, "ca");
  const other = new X509Certificate((await loaded.issue({ commonName: "late" }, Date.now())).certificate);
  const root = new X509Certificate(await readFile(join(directory, "ca.crt"), "utf8"));
  assert.equal(issued.subject, "CN=admin\nO=system:masters\nO=others");
  assert.equal(issued.subjectAltName, "DNS:localhost, IP Address:127.0.0.1");
  assert.ok(issued.verify(root.publicKey) && issued.checkIssued(root));
  assert.ok(other.verify(root.publicKey), "an authority that was loaded again signs with the same key");
});

test("a TLS server and client with issued certificates accept each other and refuse a stranger", async (t) => {
  const directory = await temporary(t);
  const [authority, stranger] = await Promise.all([
    Authority.create(directory, "ca", Date.now()),
    Authority.create(directory, "stranger", Date.now()),
  ]);
  const ca = await readFile(join(directory, "ca.crt"), "utf8");
  const serving = await authority.issue(
    { commonName: "server", addresses: ["127.0.0.1"], usages: ["server"] },
    Date.now(),
  );
  const server = createServer(
    { ca, cert: serving.certificate, key: serving.key, requestCert: true, rejectUnauthorized: true },
    (socket) => socket.end("welcome"),
  );
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const answer = async (from: Authority): Promise<string> => {
    const client = await from.issue({ commonName: "client", usages: ["client"] }, Date.now());
    const { port } = server.address() as { port: number };
    return read(connect({ host: "127.0.0.1", port, ca, cert: client.certificate, key: client.key }));
  };
  assert.equal(await answer(authority), "welcome");
  assert.notEqual(await answer(stranger).catch(() => "refused"), "welcome");
});

async function read(socket: TLSSocket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}

async function temporary(t: { after(f: () => Promise<void>): void }): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "fjord-certificates-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
