import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type LogFields, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { TokenFile } from "./token-file.ts";

const directory = mkdtempSync(join(tmpdir(), "fjord-token-"));
after(() => rmSync(directory, { recursive: true }));

function tokenFile(name: string) {
  const path = join(directory, name);
  const clock = new ManualClock();
  const warnings: (LogFields | undefined)[] = [];
  const logger = { ...silentLogger, warn: (_: string, fields?: LogFields) => warnings.push(fields) };
  const credentials = new TokenFile({ path, where: "test", clock, logger });
  const token = async () => (await credentials.current()).authorization;
  return { path, clock, credentials, token, warnings, rotate: (text: string) => writeFileSync(path, text) };
}

describe("a token in a file", () => {
  it("is read again after a minute, not before", async () => {
    const { rotate, token, clock } = tokenFile("minute");
    rotate("one\n");
    assert.equal(await token(), "Bearer one");
    rotate("two");
    await clock.advance(59_999);
    assert.equal(await token(), "Bearer one");
    await clock.advance(1);
    assert.equal(await token(), "Bearer two");
  });

  it("is read again at once after the server refused it", async () => {
    const { rotate, token, credentials } = tokenFile("refused");
    rotate("one");
    assert.equal(await token(), "Bearer one");
    rotate("two");
    credentials.rejected();
    assert.deepEqual(await Promise.all([token(), token()]), ["Bearer two", "Bearer two"]);
  });

  it("is kept while the file is gone, with a warning that does not tell it", async () => {
    const { path, rotate, token, clock, warnings } = tokenFile("gone");
    rotate("hunter2");
    await token();
    rmSync(path);
    await clock.advance(60_000);
    assert.equal(await token(), "Bearer hunter2");
    assert.equal(warnings.length, 1);
    assert.ok(!JSON.stringify(warnings).includes("hunter2"));
    rotate("two");
    await clock.advance(5_000);
    assert.equal(await token(), "Bearer two");
  });

  it("fails while there has never been one, and recovers", async () => {
    const { rotate, token } = tokenFile("late");
    await assert.rejects(token(), { code: "KUBE_TOKEN_FILE" });
    rotate("one");
    assert.equal(await token(), "Bearer one");
  });
});
