import assert from "node:assert/strict";
import { test } from "node:test";
import { letsGroupIn, modeForGroup, ownershipOf } from "./ownership.ts";
import { testPod } from "./testing/pods.ts";

test("files belong to the user that all containers run as", () => {
  const container = (runAsUser?: number) => ({
    name: `c${runAsUser}`,
    image: "x",
    ...(runAsUser === undefined ? {} : { securityContext: { runAsUser } }),
  });
  const cases: [(number | undefined)[], number | undefined, number | undefined][] = [
    [[undefined], undefined, undefined],
    [[1000], undefined, 1000],
    [[undefined], 1000, 1000],
    [[1000, 1000], undefined, 1000],
    [[1000, 1001], undefined, undefined],
    [[1000, undefined], undefined, undefined],
    [[1000, undefined], 1000, 1000],
    [[0], undefined, 0],
  ];
  for (const [users, podUser, expected] of cases) {
    const securityContext = podUser === undefined ? {} : { runAsUser: podUser };
    const pod = testPod({ containers: users.map(container), securityContext });
    assert.equal(ownershipOf(pod).fsUser, expected, JSON.stringify([users, podUser]));
  }
  const init = testPod({ initContainers: [container(5)], containers: [container(6)] });
  assert.equal(ownershipOf(init).fsUser, undefined);
});

test("the group may read or write, and directories pass it on", () => {
  assert.equal(modeForGroup(0o600, "file", "read"), 0o640);
  assert.equal(modeForGroup(0o644, "file", "read"), 0o644);
  assert.equal(modeForGroup(0o400, "file", "write"), 0o660);
  assert.equal(modeForGroup(0o755, "directory", "read"), 0o2755);
  assert.equal(modeForGroup(0o700, "directory", "write"), 0o2770);
  assert.equal(modeForGroup(0o1777, "directory", "write"), 0o3777);
});

test("a directory shows whether it has been given to the group", () => {
  assert.equal(letsGroupIn({ mode: 0o42775, gid: 5 }, 5, "write"), true);
  assert.equal(letsGroupIn({ mode: 0o42775, gid: 6 }, 5, "write"), false);
  assert.equal(letsGroupIn({ mode: 0o40775, gid: 5 }, 5, "write"), false);
  assert.equal(letsGroupIn({ mode: 0o42755, gid: 5 }, 5, "write"), false);
  assert.equal(letsGroupIn({ mode: 0o42755, gid: 5 }, 5, "read"), true);
  assert.equal(letsGroupIn({ mode: 0o42705, gid: 5 }, 5, "read"), false);
  assert.equal(letsGroupIn({ mode: 0o42550, gid: 5 }, 5, "read"), true);
});
