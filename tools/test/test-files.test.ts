import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { runTestFiles } from "./test-files.ts";

describe("test files that are run one by one", () => {
  let folder: string;
  let lines: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "fjord-test-files-"));
    lines = [];
    mock.method(console, "log", (line: string) => lines.push(line));
  });
  afterEach(() => {
    mock.restoreAll();
    rmSync(folder, { recursive: true, force: true });
  });

  const write = (bodies: string[]) =>
    bodies.map((body, index) => {
      writeFileSync(join(folder, `${index}.test.mjs`), `import { describe, test } from "node:test";\n${body}`);
      return `${index}.test.mjs`;
    });
  const run = (...bodies: string[]) => runTestFiles(write(bodies), { cwd: folder, atATime: 2, minutes: 1 / 20 });
  const printed = () => stripVTControlCharacters(lines.join("\n"));

  test("pass, and are counted", async () => {
    assert.equal(
      await run('test("a", () => {});', 'test("b", () => {});', 'describe("c", { skip: true }, () => {});'),
      true,
    );
    assert.match(printed(), /^tests 2, pass 2, fail 0/m);
  });

  test("say at their end what of the processors they took, and what nobody did", {
    skip: process.platform !== "linux",
  }, async () => {
    assert.equal(await run('test("a", () => {});'), true);
    assert.match(printed(), /^processor time: \d+ s in \d+ s, \d+ % of \d+ processors, which were idle for \d+ %$/m);
  });

  test("go together in one process where they are to, and are counted, also where one fails", async () => {
    const same =
      'test("a", () => { globalThis.met = (globalThis.met ?? 0) + 1; if (globalThis.met > 2) throw new Error("third"); });';
    const [first = "", second = "", third = ""] = write([same, same, same]);
    const options = { cwd: folder, atATime: 1, minutes: 1 };
    assert.equal(await runTestFiles([[first, second]], options), true);
    assert.match(printed(), /^tests 2, pass 2, fail 0/m);
    assert.equal(await runTestFiles([[first, second, third]], options), false);
    assert.match(printed(), /^tests 3, pass 2, fail 1/m);
  });

  test("are counted by what their own reporter says last", async () => {
    assert.equal(await run('test("a", () => console.log("ℹ tests 9\\nℹ pass 9"));'), true);
    assert.match(printed(), /^tests 1, pass 1, fail 0/m);
  });

  test("are counted where the environment asks for colours", async (t) => {
    const { FORCE_COLOR: before } = process.env;
    process.env.FORCE_COLOR = "1";
    t.after(() => {
      if (before === undefined) delete process.env.FORCE_COLOR;
      else process.env.FORCE_COLOR = before;
    });
    assert.equal(await run('test("a", () => {});'), true);
    assert.match(printed(), /^tests 1, pass 1, fail 0/m);
  });

  test("fail with the one that fails", async () => {
    assert.equal(await run('test("a", () => { throw new Error("broken"); });', 'test("b", () => {});'), false);
    assert.match(printed(), /^✖ 0\.test\.mjs, again:\n✖ failing tests:.*broken.*\ntests 2, pass 1, fail 1/ms);
    assert.match(printed(), /^✖ 0\.test\.mjs$/m);
    assert.doesNotMatch(printed(), /^✖ 1\.test\.mjs$/m);
  });

  test("are not held up by one that does not end, which is named", async () => {
    const endless = 'test("a", () => {}); setInterval(() => {}, 1000);';
    const stuck = 'test("a", () => new Promise(() => setInterval(() => {}, 1000)));';
    assert.equal(await run(endless, stuck, 'test("b", () => {});'), false);
    assert.match(printed(), /^✔ a .*\n✖ 0\.test\.mjs: no end after/m);
    assert.match(printed(), /^✖ 1\.test\.mjs: no end after/m);
    assert.match(printed(), /^✔ 2\.test\.mjs/m);
  });

  test("fail with one that ends before its tests do", async () => {
    assert.equal(await run("process.exit(0);"), false);
    assert.match(printed(), /ended without a result/);
  });

  describe("of which there may be more than usual at a time", () => {
    /** Passes only where the other one runs as well. */
    const meets = (own: string, other: string) => `import { existsSync, writeFileSync } from "node:fs";
      test("meets", async () => {
        writeFileSync("${own}", "");
        while (!existsSync("${other}")) await new Promise((resolve) => setTimeout(resolve, 10));
      });`;
    /** Passes only where it runs alone. */
    const alone = `import { mkdirSync, rmdirSync } from "node:fs";
      test("alone", async () => {
        mkdirSync("running");
        await new Promise((resolve) => setTimeout(resolve, 200));
        rmdirSync("running");
      });`;

    test("run so many where the machine has room for them", async () => {
      const files = write([meets("a", "b"), meets("b", "c"), meets("c", "a")]);
      const options = { cwd: folder, atATime: 1, most: 3, minutes: 1, hasRoom: () => true, lookMs: 20 };
      assert.equal(await runTestFiles(files, options), true);
    });

    test("run as usual where it has not", async () => {
      const options = { cwd: folder, atATime: 1, most: 3, minutes: 1, hasRoom: () => false, lookMs: 20 };
      assert.equal(await runTestFiles(write([alone, alone, alone]), options), true);
    });

    test("are never more than that", async () => {
      const options = { cwd: folder, atATime: 1, most: 1, minutes: 1, hasRoom: () => true, lookMs: 20 };
      assert.equal(await runTestFiles(write([alone, alone, alone]), options), true);
    });
  });

  describe("that have failed beside others", () => {
    /** Fails the first time. */
    const learns = (name: string) => `import { existsSync, writeFileSync } from "node:fs";
      test("learns", () => {
        if (existsSync("${name}")) return;
        writeFileSync("${name}", "");
        throw new Error("not yet");
      });`;
    const runAgain = (bodies: string[], again: number) =>
      runTestFiles(write(bodies), { cwd: folder, atATime: 2, minutes: 1, again });

    test("may pass alone, and are named with why they failed", async () => {
      assert.equal(await runAgain([learns("a"), 'test("b", () => {});'], 1), true);
      assert.match(printed(), /^✖ 0\.test\.mjs, again:\n✖ failing tests:.*not yet.*\ntests 2, pass 2, fail 0/ms);
      assert.match(printed(), /^unsteady: 0\.test\.mjs failed beside others and passed alone$/m);
    });

    test("fail where they fail alone, too", async () => {
      const broken = 'test("a", () => { throw new Error("broken"); });';
      assert.equal(await runAgain([broken, 'test("b", () => {});'], 1), false);
      assert.match(printed(), /^✖ 0\.test\.mjs$/m);
      assert.doesNotMatch(printed(), /unsteady/);
    });

    test("are not run again where they are too many", async () => {
      assert.equal(await runAgain([learns("a"), learns("b"), 'test("c", () => {});'], 1), false);
      assert.doesNotMatch(printed(), /once more/);
    });
  });

  test("end with the program that runs them, and no other begins", async () => {
    const body = (name: string) => `import { writeFileSync } from "node:fs";
      writeFileSync("${name}.began", "");
      await new Promise((resolve) => setTimeout(resolve, 60_000));`;
    for (const name of ["first", "second"]) writeFileSync(join(folder, `${name}.test.mjs`), body(name));
    const script = `import { runTestFiles } from ${JSON.stringify(import.meta.resolve("./test-files.ts"))};
      await runTestFiles(["first.test.mjs", "second.test.mjs"], { cwd: ".", atATime: 1, minutes: 1 });`;
    const program = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: folder,
      stdio: "ignore",
    });
    while (!existsSync(join(folder, "first.began"))) await new Promise((resolve) => setTimeout(resolve, 20));
    program.kill("SIGTERM");
    assert.deepEqual(await once(program, "exit"), [143, null]);
    assert.equal(existsSync(join(folder, "second.began")), false);
  });
});
