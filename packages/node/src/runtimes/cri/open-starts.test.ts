import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { OpenStarts } from "./open-starts.ts";

const folder = mkdtempSync(join(tmpdir(), "fjord-starts-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const socket = join(folder, "socket");
const open = () => new OpenStarts(join(folder, "starts"), socket);

test("the next process hears which starts had no answer, unless the runtime is another by then", () => {
  writeFileSync(socket, "");
  const first = open();
  assert.deepEqual(first.takeOver(), []);
  for (const id of ["a", "b", "c"]) first.open(id);
  first.close("b");
  const second = open();
  assert.deepEqual(second.takeOver().sort(), ["a", "c"]);
  second.close("a");

  rmSync(socket);
  writeFileSync(socket, "");
  assert.deepEqual(open().takeOver(), []);
  open().open("d");
  rmSync(socket);
  assert.deepEqual(open().takeOver(), [], "there is no runtime");
  assert.deepEqual(open().takeOver(), [], "and what it was asked for is forgotten");
});
