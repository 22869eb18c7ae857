/** Names that a shell, and nothing in it, may take for anything else. */
const SAFE = /^[A-Za-z0-9.:_-]+$/;

/** What ends a script, so that what a container has is told from what the network does. */
export const NO_TOOL = 66;

const SECONDS = 4;

/**
 * A script for `sh` of whatever image a pod has: ends with 0 where something answers at the port, with 66 where the container has nothing to
 * ask by, and else otherwise.
 */
export function connectScript(host: string, port: number): string {
  if (!SAFE.test(host)) throw new TypeError(`${JSON.stringify(host)} is no host`);
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}/`;
  const ways: readonly (readonly [string, string])[] = [
    // Some know -z, and do not wait then for what is said.
    [
      "nc",
      `nc -z -w ${SECONDS} ${host} ${port} 2>/dev/null || nc -w ${SECONDS} ${host} ${port} </dev/null >/dev/null 2>&1`,
    ],
    ["bash", `timeout ${SECONDS} bash -c 'exec 3<>/dev/tcp/${host}/${port}' 2>/dev/null`],
    // Any answer is one; no connection is 7, no time left is 28.
    ["curl", `curl -s -o /dev/null -m ${SECONDS} '${url}'; case $? in 6|7|28) false ;; *) true ;; esac`],
    ["wget", `wget -q -T ${SECONDS} -O /dev/null '${url}' 2>/dev/null`],
    ["python3", `python3 -c "import socket; socket.create_connection(('${host}', ${port}), ${SECONDS})" 2>/dev/null`],
  ];
  return chosen(ways);
}

/** The same for a name that is to have an address. */
export function resolveScript(name: string): string {
  if (!SAFE.test(name)) throw new TypeError(`${JSON.stringify(name)} is no name`);
  return chosen([
    ["getent", `getent hosts ${name} >/dev/null`],
    ["nslookup", `nslookup ${name} >/dev/null 2>&1`],
    ["python3", `python3 -c "import socket; socket.gethostbyname('${name}')" 2>/dev/null`],
  ]);
}

function chosen(ways: readonly (readonly [string, string])[]): string {
  const branches = ways.map(([tool, command], index) => {
    const word = index === 0 ? "if" : "elif";
    return `${word} command -v ${tool} >/dev/null 2>&1; then ${command}`;
  });
  return `${branches.join("\n")}\nelse exit ${NO_TOOL}\nfi`;
}
