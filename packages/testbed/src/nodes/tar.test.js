import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { readTar, tarArchive } from "./tar.ts";
test("what was put into an archive comes out of it", () => {
    const segment = fc.stringMatching(/^[a-zA-Z0-9_.-]{1,30}$/).filter((name) => name !== "." && name !== "..");
    const path = fc.array(segment, { minLength: 1, maxLength: 7 }).map((parts) => parts.join("/"));
    const mode = fc.integer({ min: 0, max: 0o7777 });
    const content = fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes));
    const entry = fc
        .oneof(fc.record({ path, mode, content }), fc.record({ path, link: segment }), fc.record({ path, mode, directory: fc.constant(true) }))
        .map((each) => ({ ...each }));
    fc.assert(fc.property(fc.array(entry, { maxLength: 8 }), (entries) => {
        assert.deepEqual([...readTar(tarArchive(entries))], entries);
    }));
});
test("the tar of the system reads an archive", (t) => {
    const archive = tarArchive([
        { path: "bin", directory: true },
        { path: "bin/tool", content: Buffer.from("#!/bin/sh\n"), mode: 0o755 },
        { path: "bin/alias", link: "tool" },
        { path: `deep/${"long-name/".repeat(12)}file`, content: Buffer.from("x") },
    ]);
    const listing = spawnSync("tar", ["--list", "--verbose", "--file=-"], { input: archive, encoding: "utf8" });
    if (listing.error)
        return t.skip("no tar on this machine");
    assert.equal(listing.status, 0, listing.stderr);
    const [folder, tool, alias, deep] = listing.stdout.trim().split("\n");
    assert.match(folder ?? "", /^drwxr-xr-x root\/root .* bin\/$/);
    assert.match(tool ?? "", /^-rwxr-xr-x root\/root +10 .* bin\/tool$/);
    assert.match(alias ?? "", /bin\/alias -> tool$/);
    assert.match(deep ?? "", /(long-name\/){12}file$/);
});
test("a path that no archive can hold is refused, not cut", () => {
    assert.throws(() => tarArchive([{ path: "x".repeat(101), content: Buffer.alloc(0) }]), /too long/);
});
