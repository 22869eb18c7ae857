import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseWireguardDump, wireguardCalls } from "./wireguard-tool.ts";

const hex = (byte: number) => Buffer.alloc(32, byte).toString("hex");
const base64 = (byte: number) => Buffer.alloc(32, byte).toString("base64");

describe("wg set", () => {
  it("is told the same as WireGuard's own protocol, in its order, and the private key by standard input", () => {
    const calls = wireguardCalls([
      `private_key=${hex(9)}`,
      "listen_port=51820",
      `public_key=${hex(1)}`,
      "remove=true",
      `public_key=${hex(2)}`,
      "endpoint=192.0.2.1:51820",
      "persistent_keepalive_interval=5",
      "replace_allowed_ips=true",
      "allowed_ip=10.0.0.0/16",
      "allowed_ip=fd00::1/128",
      `public_key=${hex(3)}`,
      "endpoint=[2001:db8::1]:7",
    ]);
    const args = ["private-key", "/proc/self/fd/0", "listen-port", "51820", "peer", base64(1), "remove"];
    args.push("peer", base64(2), "endpoint", "192.0.2.1:51820", "persistent-keepalive", "5");
    args.push("allowed-ips", "10.0.0.0/16,fd00::1/128", "peer", base64(3), "endpoint", "[2001:db8::1]:7");
    assert.deepEqual(calls, [{ args, input: `${base64(9)}\n` }]);
    assert.ok(!JSON.stringify(calls[0]?.args).includes(base64(9)));
  });

  it("takes away all ranges of a peer that shall have none, and leaves those alone that are not spoken of", () => {
    const ranges = (lines: string[]) => wireguardCalls([`public_key=${hex(1)}`, ...lines])[0]?.args.slice(2);
    assert.deepEqual(ranges(["replace_allowed_ips=true"]), ["allowed-ips", ""]);
    assert.deepEqual(ranges(["endpoint=192.0.2.1:1"]), ["endpoint", "192.0.2.1:1"]);
  });

  it("is called several times where one command line does not take all of it", () => {
    const lines = Array.from({ length: 3000 }, (_, i) => [
      `public_key=${i.toString(16).padStart(64, "0")}`,
      "replace_allowed_ips=true",
      `allowed_ip=10.${i >> 8}.${i & 255}.0/24`,
    ]).flat();
    const calls = wireguardCalls(lines);
    assert.ok(calls.length > 1 && calls.every(({ args }) => args.join(" ").length <= 64 << 10 && args[0] === "peer"));
    assert.equal(calls.flatMap(({ args }) => args.filter((arg) => arg === "peer")).length, 3000);
    assert.deepEqual(wireguardCalls([]), []);
  });
});

describe("wg show dump", () => {
  it("says what an interface has", () => {
    const text = [
      [base64(9), base64(8), "51820", "off"],
      [base64(1), "(none)", "192.0.2.1:7", "10.0.0.0/16,10.1.0.1/32,fd00::1/128", "1700000000", "5", "6", "25"],
      [base64(2), "(none)", "(none)", "(none)", "0", "0", "0", "off"],
    ];
    const state = parseWireguardDump(`${text.map((line) => line.join("\t")).join("\n")}\n`);
    assert.deepEqual(state, {
      privateKey: hex(9),
      listenPort: 51_820,
      peers: new Map([
        [
          hex(1),
          {
            publicKey: hex(1),
            endpoint: "192.0.2.1:7",
            ranges: ["10.0.0.0/16", "10.1.0.1", "fd00::1"],
            handshakeSeconds: 1_700_000_000,
            receivedBytes: 5,
            sentBytes: 6,
            keepaliveSeconds: 25,
          },
        ],
        [
          hex(2),
          {
            publicKey: hex(2),
            ranges: [],
            handshakeSeconds: 0,
            receivedBytes: 0,
            sentBytes: 0,
            keepaliveSeconds: 0,
          },
        ],
      ]),
    });
  });

  it("says so of one that nobody has configured", () => {
    const state = parseWireguardDump("(none)\t(none)\t0\toff\n");
    assert.deepEqual(state, { privateKey: "", listenPort: 0, peers: new Map() });
  });
});
