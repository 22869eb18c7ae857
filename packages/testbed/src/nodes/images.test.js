import assert from "node:assert/strict";
import { test } from "node:test";
import { fullImageName, requestedImage } from "./images.ts";
import { readTar } from "./tar.ts";
const busybox = { program: Buffer.from("the program"), commands: ["busybox", "sh", "ls"] };
test("an image's name is the one that containerd looks for when a pod names it in short", () => {
    const names = {
        busybox: "docker.io/library/busybox:latest",
        "busybox:1": "docker.io/library/busybox:1",
        "shop/web:2": "docker.io/shop/web:2",
        "localhost/web": "localhost/web:latest",
        "registry.test:5000/web": "registry.test:5000/web:latest",
        "registry.test/shop/web:1": "registry.test/shop/web:1",
    };
    for (const [short, full] of Object.entries(names))
        assert.equal(fullImageName(short), full);
});
test("an image of some files has a shell beneath them", () => {
    const image = requestedImage({ name: "web:1", files: [{ path: "srv/a/b", content: Buffer.from("x") }] }, busybox);
    const [base, files] = layersOf(image.archive);
    assert.ok(base?.some((entry) => entry.path === "bin/sh" && "link" in entry && entry.link === "busybox"));
    assert.deepEqual(files?.map(({ path }) => path), ["srv", "srv/a", "srv/a/b"]);
});
test("an image without busybox holds nothing but its files", () => {
    const request = { name: "tool:1", busybox: false, files: [{ path: "tool", content: Buffer.from("x"), mode: 0o755 }] };
    const layers = layersOf(requestedImage(request, busybox).archive);
    assert.deepEqual(layers.map((layer) => layer.map(({ path }) => path)), [["tool"]]);
});
function layersOf(archive) {
    const blobs = new Map();
    for (const entry of readTar(archive))
        if ("content" in entry)
            blobs.set(entry.path, entry.content);
    const json = (path) => JSON.parse(Buffer.from(blobs.get(path)).toString());
    const blob = (digest) => `blobs/sha256/${digest.slice("sha256:".length)}`;
    const manifest = json(blob(json("index.json").manifests[0].digest));
    return manifest.layers.map(({ digest }) => [...readTar(blobs.get(blob(digest)))]);
}
