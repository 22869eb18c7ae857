import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { GoTypes } from "../schema/index.ts";
import { readProtobuf } from "./protobuf-object.ts";

const types = new GoTypes();
const byDefault = { apiVersion: "v1", kind: "Pod" };

function varint(value: number | bigint): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  do {
    const part = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? part : part | 0x80);
  } while (rest !== 0n);
  return bytes;
}

type Field = string | number | bigint | Buffer;
const field = (number: number, value: Field): Buffer => {
  if (typeof value === "number" || typeof value === "bigint")
    return Buffer.from([...varint(number << 3), ...varint(value)]);
  const content = Buffer.from(value as string);
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(content.length)]), content]);
};
const message = (...fields: [number, Field][]) => Buffer.concat(fields.map(([number, value]) => field(number, value)));

function sent(apiVersion: string, kind: string, object: Buffer): Buffer {
  const envelope = message([1, message([1, apiVersion], [2, kind])], [2, object], [3, ""], [4, ""]);
  return Buffer.concat([Buffer.from("k8s\0"), envelope]);
}

test("objects are read as their JSON would be", () => {
  const metadata = message([1, "web"], [2, ""], [7, 0], [11, message([1, "app"], [2, "web"])], [8, message()]);
  const port = message([1, ""], [2, 0], [3, 80], [4, "TCP"]);
  const limit = message([1, "cpu"], [2, message([1, "500m"])]);
  const probe = message([1, message([2, message([1, "/"], [2, message([1, 1], [2, 0], [3, "http"])])])], [2, 5]);
  const container = message(
    [1, "main"],
    [2, "nginx"],
    [6, port],
    [8, message([1, limit])],
    [10, probe],
    [3, "a"],
    [3, "b"],
  );
  const volume = message([1, "cache"], [2, message([2, message([1, ""])])]);
  const spec = message([2, container], [4, -1], [11, 0], [1, volume]);
  assert.deepEqual(readProtobuf(sent("v1", "Pod", message([1, metadata], [2, spec])), types, byDefault), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", labels: { app: "web" } },
    spec: {
      containers: [
        {
          name: "main",
          image: "nginx",
          ports: [{ containerPort: 80, protocol: "TCP" }],
          resources: { limits: { cpu: "500m" } },
          livenessProbe: { httpGet: { path: "/", port: "http" }, initialDelaySeconds: 5 },
          command: ["a", "b"],
        },
      ],
      terminationGracePeriodSeconds: -1,
      volumes: [{ name: "cache", emptyDir: {} }],
    },
  });
});

test("bytes are base64, and options have a kind of their own", () => {
  const secret = message([1, message([1, "s"])], [2, message([1, "key"], [2, Buffer.from([0, 255])])]);
  assert.deepEqual(readProtobuf(sent("v1", "Secret", secret), types, byDefault).data, { key: "AP8=" });
  const options = message([1, 0], [2, message([1, "uid-1"])], [4, "Foreground"]);
  const { gracePeriodSeconds, preconditions } = readProtobuf(sent("v1", "DeleteOptions", options), types, byDefault);
  assert.deepEqual([gracePeriodSeconds, preconditions], [0, { uid: "uid-1" }]);
});

test("objects of other modules than the core's have their metadata, too", () => {
  const spec = message([1, message([1, "here"], [2, "sample"], [3, 7443])], [2, "sample.io"], [3, "v1"], [7, 100]);
  const condition = message([1, "Available"], [2, "True"], [3, message([1, 1_700_000_000])]);
  const sample = message([1, message([1, "v1.sample.io"])], [2, spec], [3, message([1, condition])]);
  const { metadata, status } = readProtobuf(sent("apiregistration.k8s.io/v1", "APIService", sample), types, byDefault);
  assert.deepEqual(metadata, { name: "v1.sample.io" });
  const lastTransitionTime = "2023-11-14T22:13:20Z";
  assert.deepEqual(status, { conditions: [{ type: "Available", status: "True", lastTransitionTime }] });
});

test("what is no message is refused, never worse", () => {
  assert.throws(() => readProtobuf(Buffer.from("{}"), types, byDefault), /expected prefix/);
  assert.throws(() => readProtobuf(sent("v1", "Nobody", message()), types, byDefault), /no kind "Nobody"/);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      try {
        readProtobuf(sent("v1", "Pod", Buffer.from(bytes)), types, byDefault);
      } catch (error) {
        assert(
          error instanceof Error && !(error instanceof TypeError) && !(error instanceof RangeError),
          String(error),
        );
      }
    }),
  );
});
