import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { findStale, mend } from "./generated-files.ts";
import { kindManifests, kindsPage, manifestDirectory } from "./kinds.ts";

const repository = dirname(dirname(import.meta.dirname));

describe("generated files", () => {
  it("are found stale when missing, changed or left over, and mended", (t) => {
    const root = mkdtempSync(join(tmpdir(), "fjord-generate-"));
    t.after(() => rmSync(root, { recursive: true }));
    const files = [
      { path: "docs/a.md", text: "a\n" },
      { path: "docs/b.md", text: "b\n" },
    ];
    mend(root, findStale(root, files, ["docs"]));
    assert.deepEqual(findStale(root, files, ["docs"]), { changed: [], leftovers: [] });

    writeFileSync(join(root, "docs/a.md"), "edited by hand\n");
    writeFileSync(join(root, "docs/old.md"), "");
    const stale = findStale(root, files, ["docs"]);
    assert.deepEqual(
      stale.changed.map(({ path }) => path),
      ["docs/a.md"],
    );
    assert.deepEqual(stale.leftovers, ["docs/old.md"]);
    mend(root, stale);
    assert.equal(readFileSync(join(root, "docs/a.md"), "utf8"), "a\n");
    assert.deepEqual(findStale(root, files, ["docs"]), { changed: [], leftovers: [] });
  });

  it("of the kinds are current", () => {
    const { changed, leftovers } = findStale(repository, [...kindManifests(), kindsPage()], [manifestDirectory]);
    assert.deepEqual(
      [...changed.map(({ path }) => path), ...leftovers],
      [],
      "`npm run generate` brings them up to date",
    );
  });
});

describe("the kinds' files", () => {
  it("are the same on every run", () => {
    assert.deepEqual(kindManifests(), kindManifests());
    assert.deepEqual(kindsPage(), kindsPage());
  });

  it("list every condition with every reason, and every field", () => {
    const { text } = kindsPage();
    for (const word of [
      "`BothSigned`",
      "`NameTaken`",
      "`AmountExceeded`",
      "`spec.terms.notAfter`",
      "`status.sites[].twin`",
    ]) {
      assert.ok(text.includes(word), word);
    }
  });
});
