import type { Choice } from "./choice.ts";

const paths = [
  "/api/v1/namespaces/default/configmaps",
  "/api/v1/namespaces/default/pods/p/exec?command=sh&stdin=true",
  "/api/v1/namespaces/default/pods/p/portforward",
  "/api/v1/namespaces/default/pods/p:80/proxy/x",
  "/api/v1/pods?watch=true&timeoutSeconds=1",
  "/apis",
  "*",
  "http://elsewhere/api",
  "//",
];

/** Text that is nearly HTTP: cut off, smuggled, upgraded to what nobody speaks. */
export function hostileBytes(choice: Choice): Buffer {
  const made = Buffer.from(message(choice), "latin1");
  if (!choice.chance(0.3)) return made;
  // Cut off somewhere, or with noise in it.
  const at = choice.below(made.length);
  if (choice.chance(0.5)) return made.subarray(0, at);
  const noise = Buffer.from(Array.from({ length: 1 + choice.below(8) }, () => choice.below(256)));
  return Buffer.concat([made.subarray(0, at), noise, made.subarray(at)]);
}

function message(choice: Choice): string {
  const method = choice.one(["GET", "POST", "PUT", "DELETE", "CONNECT", "PRI", "G E T", "", "GET\0"]);
  const version = choice.one(["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "HTTP/2.0", ""]);
  const line = `${method} ${choice.one(paths)} ${version}`;
  const body = '{"metadata":{"name":"s"}}';
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const json = "Content-Type: application/json";
  switch (choice.below(12)) {
    case 0:
      return `${line}\r\nHost: x\r\n${json}\r\nContent-Length: ${choice.one([0, 5, -1, 25, 26, 1e15, "5, 5", "0x19"])}\r\n\r\n${body}`;
    case 1:
      return `${line}\r\nHost: x\r\n${json}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}${smuggled}`;
    case 2:
      return `${line}\r\nHost: x\r\nTransfer-Encoding: ${choice.one(["chunked", "x", "chunked, x", "identity", " chunked"])}\r\n\r\n${choice.one(["zz\r\n", "ffffffffffffffffff\r\n", chunked, "-1\r\n", "5;x=y\r\nab"])}`;
    case 3:
      return `${line}\r\nHost: x\r\n${`X-${"a".repeat(choice.one([10, 70_000]))}: b\r\n`}\r\n`;
    case 4:
      return `${line}\r\nHost: x\r\n${Array.from({ length: choice.one([100, 5_000]) }, (_, n) => `H${n}: v`).join("\r\n")}\r\n\r\n`;
    case 5:
      return `${line}\nHost: x\n\n`;
    case 6:
      return `${line}\r\nHost: x\r\n folded: yes\r\nA\0B: c\r\n:empty\r\n\r\n`;
    case 7:
      return upgrade(choice, line);
    case 8:
      return `${line}\r\n\r\n`.repeat(choice.one([2, 50]));
    case 9:
      return `${line}\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n`;
    case 10:
      return `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\0".repeat(40)}`;
    default:
      return Array.from({ length: 1 + choice.below(300) }, () => String.fromCharCode(choice.below(256))).join("");
  }
}

function upgrade(choice: Choice, line: string): string {
  const protocol = choice.one(["websocket", "SPDY/3.1", "h2c", "", "websocket, SPDY/3.1", "x".repeat(300)]);
  const key = choice.one(["dGhlIHNhbXBsZSBub25jZQ==", "short", ""]);
  const more = `Sec-WebSocket-Version: ${choice.one(["13", "8", "x"])}\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Protocol: ${choice.one(["v5.channel.k8s.io", "base64url.bearer.authorization.k8s.io.x", "nonsense"])}`;
  const after = choice.one([
    "",
    "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    "\x88\x00",
    "GET / HTTP/1.1\r\n\r\n",
    "\x80\x03\0\x01\0\0\0\0",
  ]);
  return `${line}\r\nHost: x\r\nConnection: ${choice.one(["Upgrade", "upgrade, keep-alive", "close"])}\r\nUpgrade: ${protocol}\r\n${more}\r\n\r\n${after}`;
}
