import { createHash } from "node:crypto";
import { tarArchive } from "./tar.ts";
const mediaTypes = {
    index: "application/vnd.oci.image.index.v1+json",
    manifest: "application/vnd.oci.image.manifest.v1+json",
    config: "application/vnd.oci.image.config.v1+json",
    layer: "application/vnd.oci.image.layer.v1.tar",
};
/** An image with its layers uncompressed: it never travels, and an identifier and a digest are then one and the same. */
export function ociImage(contents) {
    const blobs = new Map();
    const store = (mediaType, bytes) => {
        const digest = sha256(bytes);
        blobs.set(digest, bytes);
        return { mediaType, digest, size: bytes.length };
    };
    const architecture = contents.architecture ?? platform(process.arch);
    const layers = contents.layers.map((entries) => store(mediaTypes.layer, tarArchive(sorted(entries))));
    const config = store(mediaTypes.config, json(imageConfig(contents, architecture, layers)));
    const manifest = store(mediaTypes.manifest, json({ schemaVersion: 2, mediaType: mediaTypes.manifest, config, layers }));
    const index = {
        schemaVersion: 2,
        mediaType: mediaTypes.index,
        manifests: contents.names.map((name) => ({
            ...manifest,
            platform: { architecture, os: "linux" },
            annotations: { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name },
        })),
    };
    const archive = tarArchive([
        { path: "oci-layout", content: json({ imageLayoutVersion: "1.0.0" }) },
        { path: "index.json", content: json(index) },
        ...[...blobs].map(([digest, content]) => ({ path: `blobs/sha256/${digest.slice("sha256:".length)}`, content })),
    ]);
    return { names: contents.names, digest: manifest.digest, archive };
}
function imageConfig(contents, architecture, layers) {
    const env = { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", ...contents.env };
    return {
        created: "1970-01-01T00:00:00Z",
        architecture,
        os: "linux",
        config: {
            Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
            ...(contents.entrypoint && { Entrypoint: contents.entrypoint }),
            ...(contents.cmd && { Cmd: contents.cmd }),
            ...(contents.user && { User: contents.user }),
            WorkingDir: contents.workingDir ?? "/",
        },
        rootfs: { type: "layers", diff_ids: layers.map((layer) => layer.digest) },
    };
}
/** By path, so that the order in which files were listed does not change the digest, and a folder precedes its files. */
function sorted(entries) {
    return entries.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
function platform(arch) {
    return arch === "x64" ? "amd64" : arch;
}
function sha256(bytes) {
    return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
function json(value) {
    return Buffer.from(JSON.stringify(value));
}
