import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { redactObject, redactText } from "./redact.ts";
import { tar } from "./tar.ts";

const folder = mkdtempSync(join(tmpdir(), "fjord-report-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const SECRET = "planted-4711";

test("what looks like a secret is taken out of a text, and the rest stays", () => {
  const texts = [
    `connecting with token=${SECRET} to wave`,
    `Authorization: Bearer ${SECRET}-and-more`,
    `{"password":"${SECRET}","user":"anna"}`,
    `dialling https://anna:${SECRET}@wave.example/`,
    `-----BEGIN EC PRIVATE KEY-----\n${SECRET}\n-----END EC PRIVATE KEY-----\n`,
    `-----BEGIN CERTIFICATE-----\n${SECRET} that was cut off`,
  ];
  for (const text of texts) assert.ok(!redactText(text).includes(SECRET), redactText(text));
  assert.ok(!redactText(`eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.${SECRET}`).includes("eyJ"));
  assert.ok(!redactText("joined with abcdef.0123456789abcdef").includes("0123456789abcdef"));
  for (const text of ["all is well", "contract c-1 with lively-wave is Active", "https://wave.example:7443", "12 pods"])
    assert.equal(redactText(text), text);
});

test("an object keeps what helps, and loses what is its owner's", () => {
  const pod = {
    metadata: {
      name: "web",
      managedFields: [{ manager: "x" }],
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": SECRET, note: `token: ${SECRET}` },
    },
    spec: {
      imagePullSecrets: [{ name: "registry" }],
      containers: [
        {
          name: "main",
          command: ["sh", "-c", `login ${SECRET}`],
          args: [SECRET],
          env: [
            { name: "KEY", value: SECRET },
            { name: "FROM", valueFrom: { secretKeyRef: { name: "keys", key: "key" } } },
          ],
          resources: { requests: { cpu: "1" } },
        },
      ],
      volumes: [{ name: "v", secret: { secretName: "keys" } }],
    },
    data: { key: SECRET },
    status: { phase: "Running" },
  };
  const kept = redactObject(pod) as typeof pod;
  assert.ok(!JSON.stringify(kept).includes(SECRET), JSON.stringify(kept));
  assert.deepEqual(kept.status, { phase: "Running" });
  assert.deepEqual(kept.spec.containers[0]?.resources, { requests: { cpu: "1" } });
  assert.deepEqual(kept.spec.containers[0]?.env[1], pod.spec.containers[0]?.env[1]);
  assert.deepEqual(kept.spec.volumes, pod.spec.volumes);
  assert.deepEqual(kept.spec.imagePullSecrets, pod.spec.imagePullSecrets);
});

test("tar reads the archive", () => {
  const files = [
    { name: "report/a.txt", content: "hello" },
    { name: "report/b.txt", content: "ø".repeat(2_000) },
    { name: "report/empty.txt", content: "" },
  ];
  const file = join(folder, "report.tar.gz");
  writeFileSync(file, gzipSync(tar(files, 0)));
  assert.equal(execFileSync("tar", ["-tzf", file]).toString(), files.map(({ name }) => `${name}\n`).join(""));
  for (const { name, content } of files)
    assert.equal(execFileSync("tar", ["-xzOf", file, name]).toString(), content, name);
});
