import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { ociImage } from "./oci-image.ts";
import { readTar } from "./tar.ts";
const files = [
    { path: "etc", directory: true },
    { path: "etc/motd", content: Buffer.from("hello\n") },
    { path: "bin/run", content: Buffer.from("#!/bin/sh\n"), mode: 0o755 },
];
const contents = {
    names: ["example.test/shop:1", "example.test/shop:2"],
    layers: [files, [{ path: "etc/extra", content: Buffer.from("more") }]],
    entrypoint: ["/bin/run"],
    cmd: ["--fast"],
    env: { MODE: "test" },
    architecture: "amd64",
};
test("an image is an OCI layout in which every blob is found by its digest", () => {
    const { blobs, json } = open(ociImage(contents));
    for (const [digest, bytes] of blobs)
        assert.equal(sha256(bytes), digest);
    assert.deepEqual(json("oci-layout"), { imageLayoutVersion: "1.0.0" });
    const index = json("index.json");
    assert.deepEqual(index.manifests.map(({ annotations }) => annotations?.["io.containerd.image.name"]), contents.names);
    const manifest = json(blobPath(index.manifests[0]));
    const config = json(blobPath(manifest.config));
    assert.deepEqual(config.rootfs.diff_ids, manifest.layers.map(({ digest }) => digest));
    assert.deepEqual(config.config.Entrypoint, ["/bin/run"]);
    assert.deepEqual(config.config.Cmd, ["--fast"]);
    assert.ok(config.config.Env.includes("MODE=test"));
    const layer = blobs.get(manifest.layers[0]?.digest ?? "");
    assert.deepEqual([...readTar(layer)].map(({ path }) => path).sort(), files.map(({ path }) => path).sort());
});
test("the same files give the same digest, in whatever order they are listed", () => {
    const reversed = { ...contents, layers: contents.layers.map((layer) => layer.toReversed()) };
    assert.equal(ociImage(reversed).digest, ociImage(contents).digest);
});
test("other files give another digest", () => {
    const other = { ...contents, layers: [[{ path: "etc/motd", content: Buffer.from("bye\n") }]] };
    assert.notEqual(ociImage(other).digest, ociImage(contents).digest);
});
function open(image) {
    const entries = new Map();
    for (const entry of readTar(image.archive))
        if ("content" in entry)
            entries.set(entry.path, entry.content);
    const blobs = new Map([...entries]
        .filter(([path]) => path.startsWith("blobs/"))
        .map(([path, bytes]) => [path.replace("blobs/sha256/", "sha256:"), bytes]));
    const json = (path) => JSON.parse(Buffer.from(entries.get(path)).toString());
    return { blobs, json };
}
function blobPath(descriptor) {
    return `blobs/sha256/${descriptor?.digest.slice("sha256:".length)}`;
}
function sha256(bytes) {
    return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
