import { ociImage } from "./oci-image.ts";
/** The images that every node holds. There is no registry: a pod that asks for another stays in `ErrImageNeverPull`. */
export const imageNames = {
    busybox: "docker.io/library/busybox:1",
    pause: "fjord.test/pause:1",
    coreDns: "fjord.test/coredns:1",
};
/** The image that a test asked for. */
export function requestedImage(request, busybox) {
    const { name, files = [], busybox: withBusybox = true, ...start } = request;
    const layers = [...(withBusybox ? [busyboxFiles(busybox)] : []), ...(files.length > 0 ? [withParents(files)] : [])];
    return ociImage({ ...start, names: [fullImageName(name)], layers });
}
export function busyboxImage(busybox) {
    return ociImage({ names: [imageNames.busybox], layers: [busyboxFiles(busybox)], cmd: ["sh"] });
}
/** Holds a pod's namespaces. As process 1 of a shared process namespace it also has to reap, which `wait` does. */
export function pauseImage(busybox) {
    return ociImage({
        names: [imageNames.pause],
        layers: [
            [
                { path: "bin", directory: true },
                { path: "bin/busybox", content: busybox.program, mode: 0o755 },
            ],
        ],
        entrypoint: [
            "/bin/busybox",
            "sh",
            "-c",
            'trap "exit 0" TERM INT; while :; do /bin/busybox sleep 86400 & wait $!; done',
        ],
    });
}
export function coreDnsImage(program) {
    return ociImage({
        names: [imageNames.coreDns],
        layers: [[{ path: "coredns", content: program, mode: 0o755 }]],
        entrypoint: ["/coredns"],
    });
}
/** What containerd calls an image that a pod names in short. */
export function fullImageName(name) {
    const [first = "", ...rest] = name.split("/");
    const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
    const path = hasHost ? name : rest.length > 0 ? `docker.io/${name}` : `docker.io/library/${name}`;
    return /[:@][^/]+$/.test(path) ? path : `${path}:latest`;
}
function busyboxFiles(busybox) {
    return [
        { path: "bin", directory: true },
        { path: "bin/busybox", content: busybox.program, mode: 0o755 },
        ...busybox.commands
            .filter((command) => command !== "busybox")
            .map((command) => ({ path: `bin/${command}`, link: "busybox" })),
        { path: "sbin", link: "bin" },
        { path: "usr", directory: true },
        { path: "usr/bin", link: "../bin" },
        { path: "usr/sbin", link: "../bin" },
        { path: "etc", directory: true },
        { path: "etc/passwd", content: text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n") },
        { path: "etc/group", content: text("root:x:0:\nnogroup:x:65534:\n") },
        { path: "etc/nsswitch.conf", content: text("hosts: files dns\n") },
        { path: "root", directory: true, mode: 0o700 },
        { path: "tmp", directory: true, mode: 0o1777 },
        { path: "var", directory: true },
        { path: "proc", directory: true },
        { path: "sys", directory: true },
        { path: "dev", directory: true },
    ];
}
/** Adds the folders that the files lie in, where they are not listed. */
function withParents(files) {
    const known = new Set(files.map((file) => file.path));
    const folders = [];
    for (const { path } of files) {
        for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
            const folder = path.slice(0, slash);
            if (known.has(folder))
                continue;
            known.add(folder);
            folders.push({ path: folder, directory: true });
        }
    }
    return [...folders, ...files];
}
function text(content) {
    return Buffer.from(content);
}
