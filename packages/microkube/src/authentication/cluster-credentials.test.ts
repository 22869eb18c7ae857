import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { TLSSocket } from "node:tls";
import { ManualClock } from "@fjord/base/testing";
import { ClusterCredentials } from "./cluster-credentials.ts";

const clock = new ManualClock(Date.UTC(2026, 0, 1));

async function folderFor(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "microkube-pki-"));
  context.after(() => rm(folder, { recursive: true }));
  return folder;
}

describe("a cluster's credentials", () => {
  it("are the same after a restart", async (context) => {
    const folder = await folderFor(context);
    const first = await ClusterCredentials.open({ folder, clock });
    const second = await ClusterCredentials.open({ folder, clock });
    assert.equal(second.clusterCa.certificate, first.clusterCa.certificate);
    assert.equal(second.frontProxyCa.certificate, first.frontProxyCa.certificate);
    assert.deepEqual(second.server, first.server);
    assert.deepEqual(second.admin, first.admin);
    assert.equal(second.serviceAccountKey, first.serviceAccountKey);
    assert.equal((await stat(join(folder, "ca.key"))).mode & 0o777, 0o600);
  });

  it("name the server as it is reached, and are made anew when that changes", async (context) => {
    const folder = await folderFor(context);
    const first = await ClusterCredentials.open({ folder, clock });
    const second = await ClusterCredentials.open({ folder, clock, serverNames: ["10.1.2.3", "k.example.com"] });
    assert.notEqual(second.server.cert, first.server.cert);
    const x509 = new X509Certificate(second.server.cert);
    assert.ok(x509.checkIP("10.1.2.3") && x509.checkIP("::1") && x509.checkHost("k.example.com"));
    assert.ok(x509.checkHost("kubernetes.default.svc"));
    assert.ok(second.clusterCa.hasSigned(x509));
    assert.ok(!second.frontProxyCa.hasSigned(x509));
    const third = await ClusterCredentials.open({ folder, clock, serverNames: ["10.1.2.3"] });
    assert.deepEqual(third.server, second.server);
  });

  it("replace a certificate that was cut off while it was written, and never the authority", async (context) => {
    const folder = await folderFor(context);
    const first = await ClusterCredentials.open({ folder, clock });
    await writeFile(join(folder, "admin.crt"), first.server.cert);
    const second = await ClusterCredentials.open({ folder, clock });
    assert.notEqual(second.admin.cert, first.admin.cert);
    assert.equal(second.clusterCa.certificate, first.clusterCa.certificate);
    await rm(join(folder, "ca.key"));
    await assert.rejects(ClusterCredentials.open({ folder, clock }), { code: "MICROKUBE_CREDENTIALS_UNREADABLE" });
    await writeFile(join(folder, "ca.key"), await readFile(join(folder, "sa.key")));
    await assert.rejects(ClusterCredentials.open({ folder, clock }), { code: "MICROKUBE_CREDENTIALS_UNREADABLE" });
  });

  it("are renewed by a start in their last year, but not beyond their authority", async (context) => {
    const folder = await folderFor(context);
    const time = new ManualClock(Date.UTC(2026, 0, 1));
    const first = await ClusterCredentials.open({ folder, clock: time });
    await time.advance(9.5 * 365 * 24 * 3_600_000);
    const second = await ClusterCredentials.open({ folder, clock: time });
    const end = (cert: string) => new X509Certificate(cert).validToDate.getTime();
    assert.equal(end(second.server.cert), end(first.clusterCa.certificate));
  });

  it("serve TLS, and tell a client by its certificate", async (context) => {
    const credentials = await ClusterCredentials.open({ clock });
    const ca = [credentials.clusterCa.certificate];
    const server = createServer({ ...credentials.server, ca, requestCert: true, rejectUnauthorized: false });
    server.on("request", (request, response) => {
      const socket = request.socket as TLSSocket;
      response.end(`${socket.authorized} ${socket.getPeerX509Certificate()?.subject}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    context.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const jane = await credentials.issueClient({ commonName: "jane", organizations: ["a", "b"] });
    const text = await new Promise<string>((resolve, reject) => {
      get({ port, host: "127.0.0.1", ca, ...jane, agent: false }, async (response) => {
        resolve(Buffer.concat(await response.toArray()).toString());
      }).on("error", reject);
    });
    assert.equal(text, "true O=a\nO=b\nCN=jane");
  });

  it("write a kubeconfig", async () => {
    const credentials = await ClusterCredentials.open({ clock });
    const text = await credentials.kubeconfig("https://127.0.0.1:6443");
    assert.match(text, /server: https:\/\/127\.0\.0\.1:6443/);
    assert.ok(text.includes(Buffer.from(credentials.admin.cert).toString("base64")));
  });
});
