/** Names that a shell, and nothing in it, may take for anything else. */
const SAFE = /^[A-Za-z0-9.:_-]+$/;

/** What ends a script, so that what a container has is told from what the network does. */
export const NO_TOOL = 66;
/** The pod is not told to ask the cluster for names. */
export const NO_NAMES = 67;
/** The pod has no variable with the address of the Service. */
export const NO_VARIABLE = 68;

const SECONDS = 4;
/** For so long a connection is to be held: where agents carry, they take it before they know whether anybody may have it. */
const HELD_SECONDS = 3;

const FETCH_SECONDS = 15;

export interface ConnectOptions {
  /** A connection counts only where nobody resets it. */
  readonly held?: boolean;
}

/**
 * A script for `sh` of whatever image a pod has: ends with 0 where something answers at the port, with 66 where the container has nothing to
 * ask by, and else otherwise.
 */
export function connectScript(host: string, port: number, { held = false }: ConnectOptions = {}): string {
  if (!SAFE.test(host)) throw new TypeError(`${JSON.stringify(host)} is no host`);
  return `host='${host}'\n${chosen(held ? heldWays(port) : ways(port))}`;
}

/** The same for a Service by the address that a pod has in its variables, where it has one. */
export function variableScript(service: string, port: number, { held = false }: ConnectOptions = {}): string {
  if (!SAFE.test(service)) throw new TypeError(`${JSON.stringify(service)} is no Service`);
  const variable = `${service.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}_SERVICE_HOST`;
  return `host="$${variable}"\n[ -n "$host" ] || exit ${NO_VARIABLE}\n${chosen(held ? heldWays(port) : ways(port))}`;
}

function ways(port: number): readonly (readonly [string, string])[] {
  return [
    // Some know -z, and do not wait then for what is said.
    [
      "nc",
      `nc -z -w ${SECONDS} "$host" ${port} 2>/dev/null || nc -w ${SECONDS} "$host" ${port} </dev/null >/dev/null 2>&1`,
    ],
    ["bash", `timeout ${SECONDS} bash -c 'exec 3<>"/dev/tcp/$0/${port}"' "$host" 2>/dev/null`],
    // Any answer is one; no connection is 7, no time left is 28.
    ["curl", `${url(port)} curl -s -o /dev/null -m ${SECONDS} "$url"; case $? in 6|7|28) false ;; *) true ;; esac`],
    ["wget", `${url(port)} ${wget(SECONDS)} -O /dev/null "$url" 2>/dev/null`],
    [
      "python3",
      `python3 -c "${PYTHON} socket.create_connection((sys.argv[1], ${port}), ${SECONDS})" "$host" 2>/dev/null`,
    ],
  ];
}

/** The same where all of a file has to come: of more than one packet, and so of packets as large as they get. */
export function fetchScript(host: string, port: number, { path, bytes }: { path: string; bytes: number }): string {
  if (!SAFE.test(host)) throw new TypeError(`${JSON.stringify(host)} is no host`);
  const counted = (command: string) =>
    `${url(port)} [ "$(${command} "\${url}${path}" 2>/dev/null | wc -c)" -eq ${bytes} ]`;
  return `host='${host}'\n${chosen([
    ["wget", counted(`${wget(FETCH_SECONDS)} -O -`)],
    ["curl", counted(`curl -s -m ${FETCH_SECONDS}`)],
    ["python3", counted(`python3 -c "${PYTHON_FETCH}"`)],
  ])}`;
}

/** Nothing is said: what hangs up on whoever talks nonsense is there, too. */
function heldWays(port: number): readonly (readonly [string, string])[] {
  const inBash = `exec 3<>"/dev/tcp/$0/${port}" || exit 1; timeout ${HELD_SECONDS} head -c 1 <&3 >/dev/null; case $? in 0|124) exit 0 ;; *) exit 1 ;; esac`;
  const inPython = `${PYTHON} s = socket.create_connection((sys.argv[1], ${port}), ${HELD_SECONDS})
try: s.recv(1)
except TimeoutError: pass`;
  return [
    ["bash", `bash -c '${inBash}' "$host" 2>/dev/null`],
    ["python3", `python3 -c "${inPython}" "$host" 2>/dev/null`],
    // 56: it was reset. What says nothing at all has taken the connection.
    ["curl", `${url(port)} curl -s -o /dev/null -m ${SECONDS} "$url"; case $? in 6|7|35|56) false ;; *) true ;; esac`],
  ];
}

/** That of Debian's busybox crashes with `-T`. */
function wget(seconds: number): string {
  return `$(command -v timeout >/dev/null 2>&1 && echo timeout ${seconds} wget || echo wget -T ${seconds}) -q`;
}

const PYTHON = "import socket, sys;";
const PYTHON_FETCH = `import sys, urllib.request as r; sys.stdout.buffer.write(r.urlopen(sys.argv[1], timeout=${FETCH_SECONDS}).read())`;

function url(port: number): string {
  return `case $host in *:*) url="http://[$host]:${port}/" ;; *) url="http://$host:${port}/" ;; esac;`;
}

/** That of busybox completes no names, as all that is resolved in a pod is. */
const SEARCHED = `found=1
while read -r word domains; do
  [ "$word" = search ] || continue
  for domain in $domains; do nslookup "$name.$domain" >/dev/null 2>&1 && found=0 && break; done
done </etc/resolv.conf
[ "$found" = 0 ];`;

/** The same for a name that is to have an address; ends with 67 where it has none and the pod does not ask the cluster for names. */
export function resolveScript(name: string): string {
  if (!SAFE.test(name)) throw new TypeError(`${JSON.stringify(name)} is no name`);
  const asks = chosen([
    ["getent", `getent hosts ${name} >/dev/null`],
    ["nslookup", `nslookup ${name} >/dev/null 2>&1 || { ${SEARCHED} }`],
    ["python3", `python3 -c "import socket; socket.gethostbyname('${name}')" 2>/dev/null`],
  ]);
  return `name='${name}'\n${asks}\n[ $? -eq 0 ] && exit 0
while read -r line; do case $line in *svc.*) exit 1 ;; esac; done </etc/resolv.conf
exit ${NO_NAMES}`;
}

function chosen(ways: readonly (readonly [string, string])[]): string {
  const branches = ways.map(([tool, command], index) => {
    const word = index === 0 ? "if" : "elif";
    return `${word} command -v ${tool} >/dev/null 2>&1; then ${command}`;
  });
  return `${branches.join("\n")}\nelse exit ${NO_TOOL}\nfi`;
}
