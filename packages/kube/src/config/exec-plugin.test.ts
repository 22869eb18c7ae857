import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { loadClusterConfig } from "./load.ts";
import { caPem, clientCertPem, clientKeyPem, serverKeyPem } from "./test-certificates.ts";

const directory = mkdtempSync(join(tmpdir(), "fjord-exec-"));
after(() => rmSync(directory, { recursive: true }));
const v1 = "client.authentication.k8s.io/v1";
const v1beta1 = "client.authentication.k8s.io/v1beta1";
const secret = "hunter2";
let made = 0;

interface Plugin {
  script: string;
  exec?: Record<string, unknown>;
  cluster?: Record<string, unknown>;
  options?: { clock?: Clock; interactive?: boolean; execTimeoutMs?: number };
}

/** A kubeconfig with a shell script beside it as its plugin. */
async function plugin({ script, exec, cluster, options }: Plugin) {
  const name = `plugin-${made++}`;
  const command = join(directory, name);
  writeFileSync(command, `#!/bin/sh\n${script}\n`);
  chmodSync(command, 0o700);
  const file = join(directory, `${name}.kubeconfig`);
  writeFileSync(
    file,
    JSON.stringify({
      "current-context": "a",
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      clusters: [{ name: "a", cluster: { server: "https://a", ...cluster } }],
      users: [
        { name: "a", user: { exec: { apiVersion: v1, interactiveMode: "Never", command: `./${name}`, ...exec } } },
      ],
    }),
  );
  const env = { PATH: process.env.PATH, INHERITED: "yes" };
  const { credentials } = await loadClusterConfig({ env, kubeconfig: file, ...options });
  assert.ok(credentials);
  const where = `${file}: users[0].user.exec.command`;
  return { credentials, file, command, where };
}

function print(status: unknown, apiVersion = v1): string {
  return `cat <<'EOF'\n${JSON.stringify({ apiVersion, kind: "ExecCredential", status })}\nEOF`;
}

const count = (file: string) => `echo x >> ${file}`;
const runs = (file: string) => readFileSync(file, "utf8").length / 2;

function isRunning(pid: number): boolean {
  try {
    // A zombie that nobody has buried yet still takes signals.
    return process.kill(pid, 0) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("a credential plugin", () => {
  it("gives a token", async () => {
    const { credentials } = await plugin({ script: print({ token: "t" }) });
    assert.deepEqual(await credentials.current(), { authorization: "Bearer t" });
  });

  it("gives a client certificate", async () => {
    const status = { clientCertificateData: clientCertPem, clientKeyData: clientKeyPem };
    const { credentials } = await plugin({ script: print(status, v1beta1), exec: { apiVersion: v1beta1 } });
    assert.deepEqual(await credentials.current(), { cert: clientCertPem, key: clientKeyPem });
  });

  it("gets arguments, its own and the inherited environment, and what it is run for", async () => {
    const seen = join(directory, "seen");
    const { credentials } = await plugin({
      script: `printf '%s|%s|%s|%s|%s' "$1" "$2" "$INHERITED" "$OWN" "$KUBERNETES_EXEC_INFO" > ${seen}\n${print({ token: "t" })}`,
      exec: { args: ["get token", "-x"], env: [{ name: "OWN", value: "mine" }], provideClusterInfo: true },
      cluster: {
        server: "https://a/base/",
        "tls-server-name": "inner",
        "certificate-authority-data": Buffer.from(caPem).toString("base64"),
        extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "x" } }],
      },
    });
    await credentials.current();
    const [first, second, inherited, own, info = ""] = readFileSync(seen, "utf8").split("|");
    assert.deepEqual([first, second, inherited, own], ["get token", "-x", "yes", "mine"]);
    assert.deepEqual(JSON.parse(info), {
      apiVersion: v1,
      kind: "ExecCredential",
      spec: {
        interactive: false,
        cluster: {
          server: "https://a/base",
          "tls-server-name": "inner",
          "certificate-authority-data": Buffer.from(caPem).toString("base64"),
          config: { audience: "x" },
        },
      },
    });
  });

  it("is not told about the cluster unless it asks", async () => {
    const seen = join(directory, "not-told");
    const { credentials } = await plugin({
      script: `printf '%s' "$KUBERNETES_EXEC_INFO" > ${seen}\n${print({ token: "t" })}`,
    });
    await credentials.current();
    assert.deepEqual(JSON.parse(readFileSync(seen, "utf8")).spec, { interactive: false });
  });

  it("is looked up in PATH when its name is bare", async () => {
    const { credentials } = await plugin({
      script: "",
      exec: { command: "sh", args: ["-c", print({ token: "from-path" })] },
    });
    assert.deepEqual(await credentials.current(), { authorization: "Bearer from-path" });
  });

  it("runs once for many callers, and again when its credential expires", async () => {
    const clock = new ManualClock(Date.UTC(2030, 0, 1));
    const file = join(directory, "expiry");
    const expirationTimestamp = "2030-01-01T01:00:00Z";
    const { credentials } = await plugin({
      script: `${count(file)}\n${print({ token: "t", expirationTimestamp })}`,
      options: { clock },
    });
    await Promise.all([credentials.current(), credentials.current(), credentials.current()]);
    await clock.advance(3_599_000);
    await credentials.current();
    assert.equal(runs(file), 1);
    await clock.advance(1_000);
    // It still prints the old time, and what has expired is no credential.
    await assert.rejects(credentials.current(), /the credentials expired at 2030-01-01T01:00:00.000Z/);
    assert.equal(runs(file), 2);
  });

  it("runs again after the server refused its credential, once for a burst of refusals", async () => {
    const clock = new ManualClock();
    const file = join(directory, "refused");
    const { credentials } = await plugin({ script: `${count(file)}\n${print({ token: "t" })}`, options: { clock } });
    await credentials.current();
    await clock.advance(5_000);
    credentials.rejected();
    await credentials.current();
    assert.equal(runs(file), 2);
    credentials.rejected();
    await credentials.current();
    assert.equal(runs(file), 2);
    await clock.advance(1_000);
    credentials.rejected();
    await credentials.current();
    assert.equal(runs(file), 3);
  });

  it("that failed is tried again at the next call", async () => {
    const flag = join(directory, "flag");
    const { credentials } = await plugin({ script: `test -e ${flag} || exit 1\n${print({ token: "t" })}` });
    await assert.rejects(credentials.current(), { code: "KUBE_EXEC_PLUGIN_FAILED" });
    writeFileSync(flag, "");
    assert.deepEqual(await credentials.current(), { authorization: "Bearer t" });
  });

  it("that is silent is ended after its time, with all that it started", async () => {
    const clock = new ManualClock();
    const child = join(directory, "child");
    const { credentials, where, command } = await plugin({
      script: `sleep 600 & echo $! > ${child}; wait`,
      options: { clock, execTimeoutMs: 10_000 },
    });
    const outcome = credentials.current().catch((error: unknown) => error);
    while (!existsSync(child) || readFileSync(child, "utf8") === "") await setImmediate();
    const pid = Number(readFileSync(child, "utf8"));
    await clock.advance(10_000);
    const error = await outcome;
    assert.ok(error instanceof Error);
    assert.ok(error.message.startsWith(`${where}: the credential plugin ${command} gave no answer within 10 s`));
    while (isRunning(pid)) await setImmediate();
  });

  it("that needs a terminal is refused where there is none", async () => {
    const { credentials, where, command } = await plugin({
      script: print({ token: "t" }),
      exec: { interactiveMode: "Always" },
    });
    await assert.rejects(credentials.current(), {
      message: `${where}: the credential plugin ${command} needs a terminal (interactiveMode: Always) and there is none`,
    });
  });

  it("that is not installed is named, with the hint how to get it", async () => {
    const bare = await plugin({
      script: "",
      exec: { command: "no-such-plugin", installHint: "Run: get no-such-plugin\n" },
    });
    await assert.rejects(bare.credentials.current(), {
      message: `${bare.where}: cannot run the credential plugin no-such-plugin: not found in PATH\nRun: get no-such-plugin`,
    });
    const path = await plugin({ script: "", exec: { command: "bin/none" } });
    await assert.rejects(path.credentials.current(), {
      message: `${path.where}: cannot run the credential plugin ${directory}/bin/none: no such file`,
    });
    const notExecutable = await plugin({ script: "" });
    chmodSync(notExecutable.command, 0o600);
    await assert.rejects(notExecutable.credentials.current(), {
      message: `${notExecutable.where}: cannot run the credential plugin ${notExecutable.command}: permission denied`,
    });
  });
});

describe("what a credential plugin prints or does wrong", () => {
  const failures: { what: string; script: string; says: string }[] = [
    {
      what: "an exit code",
      script: "echo you are logged out >&2; exit 3",
      says: "failed: exit code 3: you are logged out",
    },
    { what: "a signal", script: "kill -9 $$", says: "failed: it was ended by SIGKILL" },
  ];
  const outputs: { what: string; script: string; says: string }[] = [
    { what: "nothing", script: "true", says: "it printed nothing" },
    { what: "no JSON", script: `echo ${secret}`, says: "not a JSON object" },
    { what: "JSON and more", script: `${print({ token: secret })}\necho done`, says: "not a JSON object" },
    { what: "a list", script: "echo '[]'", says: "not a JSON object" },
    { what: "another kind", script: 'echo \'{"kind":"Token"}\'', says: "kind is Token, expected ExecCredential" },
    { what: "no kind", script: "echo '{}'", says: "kind is missing, expected ExecCredential" },
    {
      what: "another version",
      script: print({ token: secret }, v1beta1),
      says: `apiVersion is ${v1beta1}, expected ${v1}`,
    },
    { what: "no status", script: print(undefined), says: "status is missing" },
    { what: "an empty status", script: print({}), says: "status holds neither a token nor a client certificate" },
    {
      what: "a token that is no string",
      script: print({ token: { a: secret } }),
      says: "status.token is not a string",
    },
    {
      what: "a token of two lines",
      script: print({ token: `a\n${secret}` }),
      says: "status.token holds a line break or another control character",
    },
    {
      what: "a certificate alone",
      script: print({ clientCertificateData: clientCertPem }),
      says: "status.clientCertificateData without clientKeyData",
    },
    {
      what: "a key alone",
      script: print({ clientKeyData: clientKeyPem }),
      says: "status.clientKeyData without clientCertificateData",
    },
    {
      what: "a certificate that is none",
      script: print({ clientCertificateData: secret, clientKeyData: clientKeyPem }),
      says: "status.clientCertificateData: no PEM certificate",
    },
    {
      what: "a key that is none",
      script: print({ clientCertificateData: clientCertPem, clientKeyData: secret }),
      says: "status.clientKeyData: no PEM private key",
    },
    {
      what: "another's key",
      script: print({ clientCertificateData: clientCertPem, clientKeyData: serverKeyPem }),
      says: "status.clientCertificateData: the certificate and the key do not belong together",
    },
    {
      what: "a time that is none",
      script: print({ token: secret, expirationTimestamp: "soon" }),
      says: "status.expirationTimestamp is not an RFC 3339 time",
    },
    {
      what: "what has expired",
      script: print({ token: secret, expirationTimestamp: "2020-01-01T00:00:00Z" }),
      says: "status.expirationTimestamp: the credentials expired at 2020-01-01T00:00:00.000Z",
    },
  ];
  const cases = [
    ...failures,
    ...outputs.map((one) => ({ ...one, says: `printed no usable ExecCredential: ${one.says}` })),
  ];
  for (const { what, script, says } of cases) {
    it(`is told: ${what}`, async () => {
      const { credentials, where, command } = await plugin({ script });
      await assert.rejects(credentials.current(), (error: Error) => {
        assert.equal(error.message, `${where}: the credential plugin ${command} ${says}`);
        assert.ok(!error.message.includes(secret));
        return true;
      });
    });
  }
});
