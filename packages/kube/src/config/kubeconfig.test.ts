import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isEmptyKubeconfig, type Kubeconfig, mergeKubeconfigs, parseKubeconfig } from "./kubeconfig.ts";

const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"));
const content = fc.record({
  clusters: names,
  users: names,
  contexts: names,
  current: fc.option(fc.constantFrom("a", "b")),
});

const contents = fc.array(content, { maxLength: 4 });

type Contents = typeof contents extends fc.Arbitrary<infer T> ? T : never;

function parseAll(all: Contents): Promise<Kubeconfig[]> {
  const parsed = all.map(({ clusters, users, contexts, current }, index) => {
    const named = (name: string) => ({ name });
    const text = {
      clusters: clusters.map(named),
      users: users.map(named),
      contexts: contexts.map(named),
      "current-context": current,
    };
    return parseKubeconfig(JSON.stringify(text), `file-${index}`);
  });
  return Promise.all(parsed);
}

/** Each entry with the file that it is from. */
function origins(kubeconfig: Kubeconfig) {
  const files = (entries: Kubeconfig["users"]) => [...entries].map(([name, { file }]) => `${name} of ${file}`).sort();
  const { clusters, users, contexts, currentContext } = kubeconfig;
  return { clusters: files(clusters), users: files(users), contexts: files(contexts), currentContext };
}

describe("merging kubeconfigs", () => {
  it("takes each name from the first file that has it, and the first current-context", async () => {
    await fc.assert(
      fc.asyncProperty(contents, async (given) => {
        const all = await parseAll(given);
        const merged = mergeKubeconfigs(all);
        for (const entries of ["clusters", "users", "contexts"] as const) {
          for (const name of ["a", "b", "c", "d"]) {
            const first = all.find((one) => one[entries].has(name));
            assert.equal(merged[entries].get(name)?.file, first?.files[0]);
          }
        }
        assert.deepEqual(merged.currentContext, all.find((one) => one.currentContext)?.currentContext);
      }),
    );
  });

  it("does not depend on what is merged first", async () => {
    await fc.assert(
      fc.asyncProperty(contents, fc.nat(4), async (given, split) => {
        const all = await parseAll(given);
        const halves = [mergeKubeconfigs(all.slice(0, split)), mergeKubeconfigs(all.slice(split))];
        assert.deepEqual(origins(mergeKubeconfigs(halves)), origins(mergeKubeconfigs(all)));
      }),
    );
  });

  it("of nothing, and of files without content, is empty", async () => {
    assert.ok(isEmptyKubeconfig(mergeKubeconfigs([])));
    for (const text of ["", "\n# a comment\n", "---\n", "{}", "apiVersion: v1\nkind: Config\nusers: null\n"]) {
      assert.ok(isEmptyKubeconfig(await parseKubeconfig(text, "file")), JSON.stringify(text));
    }
    assert.ok(!isEmptyKubeconfig(await parseKubeconfig("current-context: a", "file")));
  });

  it("never throws anything but an error of ours, whatever the text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
        try {
          await parseKubeconfig(text, "file");
        } catch (error) {
          assert.match(String((error as { code?: string }).code), /^KUBE_CONFIG_/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
