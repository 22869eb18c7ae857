import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { buildPage } from "@fjord/dashboard";
import { type Bed, findBinaries } from "@fjord/testbed";
import { buildRelease } from "@fjord/testbed/release";
import { helmSkip, kubectlProgram, realNodesSkip, startTestBed, testNodes } from "@fjord/testbed/testing";
import { releaseImage } from "../release/test-image.ts";
import { pageSteps } from "./page-steps.ts";
import { ShellSession } from "./shell-session.ts";

const root = dirname(dirname(import.meta.dirname));
const PATIENCE_MS = 180_000;
/** What the pages have pushed by then, and what they call their cluster. */
const IMAGE = "registry.example/fjord:0.1.0";
const CONTEXT = "lively-wave";

/** A life of an installation, by the pages: which of their sections are followed, and which command in them. */
const CHAPTERS: readonly (readonly [page: string, section: string, program: "fjord" | "helm"])[] = [
  ["install.md", "With `fjord init`", "fjord"],
  ["upgrade.md", "An agent in a cluster", "fjord"],
  ["uninstall.md", "Remove it", "fjord"],
  ["install.md", "With Helm", "helm"],
  ["upgrade.md", "An agent in a cluster", "helm"],
  ["uninstall.md", "Remove it", "helm"],
];

const unasked = process.env.FJORD_TEST_PAGES === "all" ? false : "FJORD_TEST_PAGES=all follows these pages too";
const skip = unasked || realNodesSkip() || helmSkip();

describe("the pages about installations, on a cluster with a real node", { skip, timeout: 500_000 }, () => {
  let bed: Bed;
  let home: string;
  let shell: ShellSession;
  let failed = false;

  before(async () => {
    mkdirSync(join(root, ".fjord"), { recursive: true });
    home = mkdtempSync(join(root, ".fjord", "pages-"));
    const release = join(home, "release");
    const provider = testNodes();
    [bed] = await Promise.all([
      startTestBed({ sites: 1, nodes: { count: 1, provider } }),
      buildRelease(root, release, ["fjord", "fjord-agent"]),
      buildPage(join(release, "page")),
    ]);
    const site = bed.site("site-1");
    await provider.loadImage(site, releaseImage(IMAGE, root, release));
    const bin = join(home, "bin");
    mkdirSync(bin);
    const helm = findBinaries({ env: process.env, sets: ["helm"] }).binaries.path("helm");
    const programs = { helm, kubectl: kubectlProgram("1.36"), fjord: join(root, "packages/cli/src/cli.ts") };
    for (const [name, file] of Object.entries(programs)) symlinkSync(file, join(bin, name));
    const KUBECONFIG = join(home, "kubeconfig");
    copyFileSync(site.kubeconfig, KUBECONFIG);
    const PATH = `${bin}:${dirname(process.execPath)}:${process.env.PATH}`;
    const env = { ...process.env, HOME: home, PATH, KUBECONFIG, NO_COLOR: "1" };
    const context = execFileSync("kubectl", ["config", "current-context"], { env, encoding: "utf8" }).trim();
    execFileSync("kubectl", ["config", "rename-context", context, CONTEXT], { env });
    shell = new ShellSession({ cwd: root, env });
  });
  after(async () => {
    await shell?.close();
    await bed?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  for (const [page, section, program] of CHAPTERS)
    test(`${page}, ${section}: what it tells to type of ${program} works`, async (t) => {
      if (failed) return t.skip("an earlier page has failed");
      failed = true;
      const text = sectionOf(readFileSync(join(root, "docs", page), "utf8"), section);
      const steps = pageSteps(text).filter(({ command }) => command.startsWith(program));
      assert.ok(steps.length > 0, `${page} has no command of ${program} in ${section}`);
      for (const { command } of steps) {
        const { status, printed, said } = await shell.type(`set -e\n${command}\nset +e`, {
          patienceMs: PATIENCE_MS,
          isSeen: () => true,
        });
        assert.equal(status, 0, `docs/${page}\n$ ${command}\n${printed.slice(-2000)}${said}`);
      }
      failed = false;
    });

  test("nothing is left", async (t) => {
    if (failed) return t.skip("a page has failed");
    const look = "kubectl get namespaces,customresourcedefinitions,clusterroles,clusterrolebindings -o name";
    const { printed } = await shell.type(look, { patienceMs: PATIENCE_MS, isSeen: () => true });
    assert.deepEqual(
      printed.split("\n").filter((line) => line.includes("fjord")),
      [],
    );
  });
});

function sectionOf(markdown: string, heading: string): string {
  const found = markdown.split(/^## /m).find((each) => each.startsWith(`${heading}\n`));
  assert.ok(found, `there is no section ${heading}`);
  return found;
}
