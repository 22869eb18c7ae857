import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  inheritMarks,
  isAlive,
  type ProcessMarks,
  type ProcessStat,
  parseMarks,
  parseStat,
  readStat,
  signalNumber,
} from "./process-table.ts";

const stat = (pid: number, parent: number, session: number): ProcessStat => ({
  pid,
  started: "1",
  state: "S",
  parent,
  session,
  terminal: 0,
  cpuTicks: 0,
  residentPages: 0,
});

describe("the table of processes", () => {
  test("reads names that look like fields", () => {
    const line = `42 (a) b (c) S 7 8 9 10 ${"0 ".repeat(6)}1 2 3 4 20 0 1 0 777 1000 55 rest`;
    const found = parseStat(line);
    assert.deepEqual(found, {
      pid: 42,
      started: "777",
      state: "S",
      parent: 7,
      session: 9,
      terminal: 10,
      cpuTicks: 10,
      residentPages: 55,
    });
  });

  test("knows a process from another with its pid", () => {
    const own = readStat(process.pid);
    assert.ok(own && isAlive(own));
    assert.equal(isAlive({ ...own, started: "1" }), false);
  });

  test("reads marks", () => {
    assert.equal(parseMarks("A=1\0NOT_FJORD_POD_UID=2\0"), undefined);
    assert.deepEqual(parseMarks("A=1\0FJORD_POD_UID=u\0FJORD_CONTAINER=c\0"), {
      pod: "u",
      container: "c",
      keeper: false,
    });
    assert.deepEqual(parseMarks("FJORD_POD_UID=u\0FJORD_KEEPER=1\0"), { pod: "u", keeper: true });
  });

  test("gives marks to children and sessions, but makes no keepers of them", () => {
    const keeper: ProcessMarks = { pod: "u", container: "c", keeper: true };
    const stats = [
      stat(1, 0, 1),
      stat(10, 1, 10),
      stat(11, 10, 10),
      stat(12, 11, 12),
      stat(13, 1, 10),
      stat(20, 1, 20),
    ];
    const found = inheritMarks(new Map(stats.map((each) => [each.pid, each])), new Map([[10, keeper]]));
    assert.deepEqual(
      found.map((each) => [each.pid, each.container, each.keeper]),
      [
        [10, "c", true],
        [11, "c", false],
        [12, "c", false],
        [13, "c", false],
      ],
    );
  });

  for (const [name, number] of [
    ["SIGTERM", 15],
    ["SIGUSR1", 10],
    ["SIGRTMIN", 34],
    ["SIGRTMIN+3", 37],
    ["SIGRTMAX-2", 62],
    ["SIGNONSENSE", 15],
  ] as const) {
    test(`${name} is ${number}`, () => assert.equal(signalNumber(name), number));
  }
});
