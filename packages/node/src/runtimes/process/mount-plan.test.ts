import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { parseMountInfo, planMounts } from "./mount-plan.ts";

describe("a plan of mounts", () => {
  const host = realpathSync(mkdtempSync(join(tmpdir(), "fjord-plan-")));
  const stage = join(host, "stage");
  const volume = join(host, "a volume");
  const file = join(host, "file");
  for (const path of [stage, volume, join(host, "there"), join(host, "there", "child")]) mkdirSync(path);
  writeFileSync(file, "");
  writeFileSync(join(host, "there", "plain"), "");
  symlinkSync("there", join(host, "link"));
  symlinkSync("child", join(host, "there", "here"));
  after(() => rmSync(host, { recursive: true, force: true }));

  const plan = (mounts: { hostPath: string; containerPath: string; readOnly?: boolean }[], readOnlyRoot = false) =>
    planMounts({
      container: "main",
      mounts: mounts.map((mount) => ({ readOnly: false, ...mount })),
      stage,
      readOnlyRoot,
      hostMounts: parseMountInfo("1 0 8:1 / / rw,nosuid,relatime - ext4 /dev/sda rw\n"),
    });
  const lines = (text: string | undefined) => text?.trim().split("\n") ?? [];

  test("mounts on what is there", () => {
    const { tables, commands, root } = plan([{ hostPath: volume, containerPath: join(host, "link") }]);
    assert.deepEqual(lines(tables.mounts), [`${host}/a\\040volume ${host}/there none rbind 0 0`]);
    assert.deepEqual(commands, ['"$mount" -a -T "$tables/mounts"']);
    assert.equal(root, undefined);
  });

  test("builds anew the directory that lacks a mount point, and changes nothing else", () => {
    const { tables, make } = plan([{ hostPath: file, containerPath: join(host, "link/new/deep"), readOnly: true }]);
    assert.deepEqual(lines(tables.mounts), [
      `${host}/there/child ${stage}/0/child none rbind,nofail 0 0`,
      `${host}/there/plain ${stage}/0/plain none bind,nofail 0 0`,
      `${stage}/0 ${host}/there none rbind 0 0`,
      `${file} ${host}/there/new/deep none bind,ro,nosuid,relatime 0 0`,
    ]);
    assert.deepEqual(make, [
      { path: `${stage}/0`, directory: true, mode: 0o755 },
      { path: `${stage}/0/new`, directory: true },
      { path: `${stage}/0/new/deep`, directory: false },
      { path: `${stage}/0/child`, directory: true },
      { path: `${stage}/0/here`, directory: false, target: "child" },
      { path: `${stage}/0/plain`, directory: false },
    ]);
  });

  test("builds a new root where the mount point is missing there", () => {
    const { tables, root } = plan([{ hostPath: volume, containerPath: "/fjord-nowhere" }]);
    assert.equal(root, `${stage}/0`);
    assert.equal(lines(tables.mounts)[0], `${stage}/0 ${stage}/0 none bind 0 0`);
    assert.equal(lines(tables.mounts).at(-1), `${host}/a\\040volume ${stage}/0/fjord-nowhere none rbind 0 0`);
  });

  test("makes mount points within volumes, and mounts outer volumes first", () => {
    const { make, tables } = plan([
      { hostPath: file, containerPath: join(host, "there/child/x/y") },
      { hostPath: volume, containerPath: join(host, "there/child") },
    ]);
    assert.deepEqual(make, [
      { path: join(volume, "x"), directory: true },
      { path: join(volume, "x/y"), directory: false },
    ]);
    assert.deepEqual(
      lines(tables.mounts).map((line) => line.split(" ")[1]),
      [join(host, "there/child"), join(host, "there/child/x/y")],
    );
  });

  test("takes volumes aside before the root becomes read-only", () => {
    const { commands, tables } = plan([{ hostPath: volume, containerPath: join(host, "there") }], true);
    assert.deepEqual(lines(tables.volumes), [`${host}/a\\040volume ${stage}/volume-0 none rbind 0 0`]);
    assert.deepEqual(lines(tables.mounts), [`${stage}/volume-0 ${host}/there none rbind 0 0`]);
    assert.deepEqual(commands.slice(-3), [
      '"$mount" -a -T "$tables/volumes"',
      '"$mount" -o remount,bind,ro,nosuid,relatime / || ! "$mountpoint" -q /',
      '"$mount" -a -T "$tables/mounts"',
    ]);
  });

  test("says what can not be mounted", () => {
    assert.throws(() => plan([{ hostPath: join(host, "gone"), containerPath: "/x" }]), /gone.* is not there/);
    assert.throws(() => plan([{ hostPath: volume, containerPath: file }]), /is a file on this machine/);
    assert.throws(() => plan([{ hostPath: volume, containerPath: "/proc/fjord" }]), /nothing can be mounted at \/proc/);
  });
});
