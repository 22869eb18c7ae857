import { type ImageContents, type OciImage, ociImage } from "./oci-image.ts";
import type { TarEntry } from "./tar.ts";

/**
 * The images that every node holds. There is no registry: a pod that asks for another ends in `ErrImagePull`, because no
 * name outside the cluster exists.
 */
export const imageNames = {
  busybox: "docker.io/library/busybox:1",
  pause: "fjord.test/pause:1",
  coreDns: "fjord.test/coredns:1",
} as const;

/** The static busybox of the machine: the program, and the commands that it can act as. */
export interface Busybox {
  readonly program: Uint8Array;
  readonly commands: readonly string[];
}

/** What a test asks for: some files, on top of busybox unless told otherwise. */
export interface ImageRequest extends Omit<ImageContents, "names" | "layers" | "architecture"> {
  /** As in a pod: `shop/web:1` or in full. */
  readonly name: string;
  /** Further names for it. */
  readonly aliases?: readonly string[];
  readonly files?: readonly TarEntry[];
  /** @default true */
  readonly busybox?: boolean;
}

/** The image that a test asked for. */
export function requestedImage(request: ImageRequest, busybox: Busybox): OciImage {
  const { name, aliases = [], files = [], busybox: withBusybox = true, ...start } = request;
  const layers = [...(withBusybox ? [busyboxFiles(busybox)] : []), ...(files.length > 0 ? [withParents(files)] : [])];
  return ociImage({ ...start, names: [name, ...aliases].map(fullImageName), layers });
}

export function busyboxImage(busybox: Busybox): OciImage {
  return ociImage({ names: [imageNames.busybox], layers: [busyboxFiles(busybox)], cmd: ["sh"] });
}

/** Waits for the end of the pod, and reaps meanwhile. */
export const pauseCommand = [
  "/bin/busybox",
  "sh",
  "-c",
  'trap "exit 0" TERM INT; while :; do /bin/busybox sleep 86400 & wait $!; done',
];

/** Holds a pod's namespaces. As process 1 of a shared process namespace it also has to reap, which `wait` does. */
export function pauseImage(busybox: Busybox): OciImage {
  return ociImage({
    names: [imageNames.pause],
    layers: [
      [
        { path: "bin", directory: true },
        { path: "bin/busybox", content: busybox.program, mode: 0o755 },
      ],
    ],
    entrypoint: pauseCommand,
  });
}

export function coreDnsImage(program: Uint8Array): OciImage {
  return ociImage({
    names: [imageNames.coreDns],
    layers: [[{ path: "coredns", content: program, mode: 0o755 }]],
    entrypoint: ["/coredns"],
  });
}

/** What containerd calls an image that a pod names in short. */
export function fullImageName(name: string): string {
  const [first = "", ...rest] = name.split("/");
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const path = hasHost ? name : rest.length > 0 ? `docker.io/${name}` : `docker.io/library/${name}`;
  return /[:@][^/]+$/.test(path) ? path : `${path}:latest`;
}

function busyboxFiles(busybox: Busybox): TarEntry[] {
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
function withParents(files: readonly TarEntry[]): TarEntry[] {
  const known = new Set(files.map((file) => file.path));
  const folders: TarEntry[] = [];
  for (const { path } of files) {
    for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
      const folder = path.slice(0, slash);
      if (known.has(folder)) continue;
      known.add(folder);
      folders.push({ path: folder, directory: true });
    }
  }
  return [...folders, ...files];
}

function text(content: string): Uint8Array {
  return Buffer.from(content);
}
