import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keptCapabilities, privilegesOf } from "./privileges.ts";
import { plainSecurity } from "./testing.ts";

const root = { root: true, namespace: "root" as const, bounding: (1n << 41n) - 1n, gidOf: () => 100 };
const user = { ...root, root: false, namespace: "user" as const };

describe("privileges", () => {
  test("of root are those that containers usually have", () => {
    const { words, user: who } = privilegesOf(plainSecurity, root);
    assert.deepEqual(words.slice(0, 4), ["--reuid=0", "--regid=0", "--clear-groups", "--inh-caps=-all"]);
    const dropped = /^--bounding-set=(.*)$/.exec(words[4] ?? "")?.[1]?.split(",") ?? [];
    assert.equal(dropped.length, 41 - 14);
    assert.ok(dropped.includes("-cap_21"), "CAP_SYS_ADMIN stays");
    assert.deepEqual(who, { uid: 0, gid: 0, supplementalGroups: [] });
  });

  test("are not taken away where the pod is privileged", () => {
    const { words } = privilegesOf({ ...plainSecurity, privileged: true, noNewPrivileges: true }, root);
    assert.deepEqual(words, ["--reuid=0", "--regid=0", "--clear-groups"]);
  });

  test("are dropped only where the machine has them", () => {
    const { words } = privilegesOf({ ...plainSecurity, dropCapabilities: ["ALL"] }, { ...root, bounding: 0b101n });
    assert.equal(words.at(-1), "--bounding-set=-cap_0,-cap_2");
  });

  test("have the group of the machine's user list, unless the pod names one", () => {
    assert.deepEqual(privilegesOf({ ...plainSecurity, runAsUser: 1000 }, root).user?.gid, 100);
    assert.deepEqual(privilegesOf({ ...plainSecurity, runAsUser: 1000, runAsGroup: 7 }, root).user?.gid, 7);
  });

  test("of a user are none, in his namespace too", () => {
    const { words, user: who } = privilegesOf({ ...plainSecurity, noNewPrivileges: true }, user);
    assert.deepEqual(words, ["--ambient-caps=-all", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]);
    assert.equal(who, undefined);
    assert.deepEqual(privilegesOf(plainSecurity, { ...user, namespace: "none" }).words, []);
  });

  test("are added by any spelling", () => {
    const kept = keptCapabilities({
      ...plainSecurity,
      dropCapabilities: ["all"],
      addCapabilities: ["CAP_NET_ADMIN", "kill"],
    });
    assert.deepEqual([...kept].sort(), ["KILL", "NET_ADMIN"]);
    assert.equal(keptCapabilities({ ...plainSecurity, addCapabilities: ["ALL"], dropCapabilities: ["BPF"] }).size, 40);
  });
});
