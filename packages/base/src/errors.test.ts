import assert from "node:assert/strict";
import { test } from "node:test";
import { defineError, describeError, FjordError } from "./errors.ts";

const FileUnreadable = defineError("FJ_FILE_UNREADABLE", "cannot read {file}: {why}", "Check its permissions.");

test("a catalogue entry makes errors with a stable code, a filled message and their cause", () => {
  const cause = new Error("EACCES");
  const error = new FileUnreadable({ file: "/etc/x", why: "no permission" }, { cause });
  assert.ok(error instanceof FileUnreadable && error instanceof FjordError && error instanceof Error);
  assert.equal(error.code, "FJ_FILE_UNREADABLE");
  assert.equal(error.message, "cannot read /etc/x: no permission");
  assert.equal(error.cause, cause);
  assert.equal(FileUnreadable.advice, "Check its permissions.");
});

test("the compiler asks for every placeholder", () => {
  // @ts-expect-error `why` is missing.
  const error = new FileUnreadable({ file: "/etc/x" });
  assert.match(error.message, /^cannot read/);
});

test("values are filled in once, not as templates of their own", () => {
  assert.equal(new FileUnreadable({ file: "{why}", why: "gone" }).message, "cannot read {why}: gone");
});

test("describes what was thrown, with its causes, without saying a thing twice", () => {
  const root = new Error("connection refused");
  assert.equal(describeError(new Error("cannot list pods", { cause: root })), "cannot list pods: connection refused");
  assert.equal(describeError(new Error("failed: connection refused", { cause: root })), "failed: connection refused");
  assert.equal(describeError("a string"), "a string");
  assert.equal(describeError(new TypeError()), "TypeError");
});

test("describing ends for causes that go in circles", () => {
  const error = new Error("round");
  error.cause = error;
  assert.equal(describeError(error), "round");
  let deep = new Error("0");
  for (let i = 1; i < 100; i++) deep = new Error(`<${i}>`, { cause: deep });
  assert.equal(describeError(deep).split(": ").length, 8);
});

test("describes whatever is thrown, and never throws", () => {
  const fail = () => {
    throw new Error("not even this");
  };
  const traps = Object.fromEntries(Reflect.ownKeys(Reflect).map((trap) => [trap, fail]));
  const unreadable = Object.defineProperty(new Error(), "message", { get: fail });
  const badCause = Object.defineProperty(new Error("outer"), "cause", { get: fail });
  const oddMessage = Object.assign(new Error(), { message: Symbol("m") });
  const things: unknown[] = [
    Object.create(null),
    { toString: fail, [Symbol.toPrimitive]: fail },
    new Proxy({}, traps),
    new Proxy(() => {}, traps),
    unreadable,
    badCause,
    oddMessage,
    new Error("outer", { cause: Object.create(null) }),
    Symbol("s"),
    undefined,
    null,
    0n,
  ];
  for (const thing of things) {
    const text = describeError(thing);
    assert.ok(typeof text === "string" && text !== "");
    assert.match(new FileUnreadable({ file: thing, why: "x" }).message, /^cannot read .+: x$/);
  }
  assert.equal(describeError(undefined), "undefined");
  assert.equal(describeError(Symbol("s")), "Symbol(s)");
  assert.equal(describeError(Object.create(null)), "something that cannot be described");
});
