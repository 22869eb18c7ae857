import type { SuitePrograms } from "../binaries/suite-programs.ts";
import type { KeyPair } from "../certificates.ts";
import { type ImageRequest, pauseCommand } from "../nodes/images.ts";
import { linkedProgram } from "../nodes/linked-program.ts";
import type { TarEntry } from "../nodes/tar.ts";

/** What the images are made of, beside busybox. */
export interface StandInParts {
  readonly agnhost: Uint8Array;
  readonly nonewprivs: Uint8Array;
  /** Programs of the image of an aggregated API server, where that is wanted. */
  readonly sampleApiServer?: { readonly program: Uint8Array; readonly etcd: Uint8Array };
  /** Files of programs that images for specs of networks have (`suiteProgramFiles`), in place of busybox's. */
  readonly programs?: readonly TarEntry[];
  /** For `localhost`, in PEM. */
  readonly serving: KeyPair;
}

/**
 * Images under the names that the suite asks for, as far as a stand-in can be made of programs at hand. Those of other
 * registries are meant to be missing or to need a password, and stay so.
 */
export function standIns(wanted: readonly string[], parts: StandInParts): ImageRequest[] {
  const requests: ImageRequest[] = [];
  for (const [kind, contents] of Object.entries(contentsOf(parts))) {
    const [name, ...aliases] = wanted.filter((image) => kindOf(image) === kind).sort();
    if (name !== undefined) requests.push({ ...contents, name, aliases });
  }
  return requests;
}

/** The programs with all libraries that they are linked with, each once; the shell by the name that it is called by. */
export function suiteProgramFiles(programs: SuitePrograms): TarEntry[] {
  const files = Object.entries(programs).flatMap(([name, path]) =>
    linkedProgram(path, `/bin/${name === "dash" ? "sh" : name}`),
  );
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

/** `agnhost` for `registry.k8s.io/e2e-test-images/agnhost:2.63.0`; undefined for an image of another registry. */
function kindOf(image: string): string | undefined {
  return /^registry\.k8s\.io\/(?:.*\/)?([^/:]+):/.exec(image)?.[1];
}

function contentsOf({
  agnhost,
  nonewprivs,
  serving,
  sampleApiServer,
  programs = [],
}: StandInParts): Record<string, Omit<ImageRequest, "name">> {
  const shell: TarEntry = { path: "bin/sh", content: Buffer.from(sh), mode: 0o755 };
  return {
    agnhost: {
      files: [
        { path: "agnhost", content: agnhost, mode: 0o755 },
        { path: "agnhost-2", link: "agnhost" },
        { path: "bin/bash", content: Buffer.from('#!/bin/sh\nexec /bin/sh "$@"\n'), mode: 0o755 },
        ...(programs.length > 0 ? programs : [{ path: "bin/curl", content: Buffer.from(curl), mode: 0o755 }]),
        { path: "etc/group", content: Buffer.from(groups) },
        { path: "etc/passwd", content: Buffer.from(users) },
        { path: "localhost.crt", content: Buffer.from(serving.certificate) },
        { path: "localhost.key", content: Buffer.from(serving.key) },
        { path: "uploads", directory: true },
      ],
      entrypoint: ["/agnhost"],
      cmd: ["pause"],
    },
    busybox: { files: [shell], cmd: ["sh"] },
    ...(sampleApiServer && {
      etcd: { files: [{ path: "usr/local/bin/etcd", content: sampleApiServer.etcd, mode: 0o755 }] },
      "sample-apiserver": {
        files: [{ path: "sample-apiserver", content: sampleApiServer.program, mode: 0o755 }],
        entrypoint: ["/sample-apiserver"],
      },
    }),
    "glibc-dns-testing": { files: programs.length > 0 ? programs : [shell], cmd: ["sh"] },
    nautilus: {
      files: [
        { path: "agnhost", content: agnhost, mode: 0o755 },
        { path: "data.json", content: Buffer.from('{\n  "image": "nautilus.jpg"\n}\n') },
      ],
      entrypoint: ["/agnhost"],
      cmd: ["test-webserver"],
    },
    nginx: {
      files: [{ path: "usr/share/nginx/html/index.html", content: Buffer.from("<title>Welcome to nginx!</title>\n") }],
      // As process 1, httpd alone would not end when it is told to.
      entrypoint: ["sh", "-c", 'trap "exit 0" TERM QUIT; httpd -f -p 80 -h /usr/share/nginx/html & wait'],
    },
    nonewprivs: {
      files: [{ path: "usr/local/bin/nnp", content: nonewprivs, mode: 0o6755 }],
      cmd: ["nnp"],
    },
    nonroot: { files: [shell], cmd: ["sh"], user: "1234" },
    pause: { entrypoint: pauseCommand },
  };
}

const users = `root:x:0:0:root:/root:/bin/sh
user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh
nobody:x:65534:65534:nobody:/:/bin/false
`;

const groups = `root:x:0:
user-defined-in-image:x:1000:
group-defined-in-image:x:50000:user-defined-in-image
nogroup:x:65534:
`;

/**
 * Busybox's shell drops variables whose names are no identifiers, and the suite has it print them: what a container was
 * given is then read where the kernel keeps it.
 */
export const sh = `#!/bin/busybox sh
if [ "$*" = "-c env" ]; then tr '\\0' '\\n' < /proc/$$/environ; exit; fi
exec -a "$0" /bin/busybox "$@"
`;

/** As much of curl as the suite uses, by busybox's wget. */
export const curl = `#!/bin/sh
output=- format= seconds=30 url=
while [ $# -gt 0 ]; do
  case $1 in
    -o | --output) output=$2; shift ;;
    -w | --write-out) format=$2; shift ;;
    -m | --max-time) seconds=$2; shift ;;
    --connect-timeout | -X | --request | -H | --header) shift ;;
    -*) ;;
    *) url=$1 ;;
  esac
  shift
done
exec 3>&1
headers=$(timeout "$seconds" wget -q -S -O "$output" "$url" 2>&1 >&3)
code=$(printf '%s\\n' "$headers" | sed -n 's|^ *HTTP/[0-9.]* \\([0-9]*\\).*|\\1|p' | tail -n 1)
if [ -z "$code" ]; then
  printf 'curl: (7) %s\\n' "$headers" >&2
  exit 7
fi
case $format in *http_code*) printf '%s' "$code" ;; esac
`;
