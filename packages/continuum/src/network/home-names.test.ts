import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { homeNames } from "./home-names.ts";
import { parseCidrs } from "./ranges.ts";

const planOf = (own: [string, string][], peer: [string, string][]) => ({
  site: "home",
  own: own.map(([range, called]) => ({ range, called })),
  peer: peer.map(([range, called]) => ({ range, called })),
});
const namesOf = (own: [string, string][], peer: [string, string][], taken: string[] = []) =>
  homeNames(planOf(own, peer), parseCidrs([...own.map(([range]) => range), ...taken]));

describe("what a consumer calls otherwise", () => {
  it("are this site's pods, where it has a name for them", () => {
    assert.deepEqual(namesOf([["10.42.0.0/16", "240.1.0.0/16"]], [["10.42.0.0/16", "240.0.0.0/16"]]), [
      { range: "10.42.0.0/16", called: "240.1.0.0/16" },
    ]);
  });

  it("are its own pods, where another name had to be found for them and their range is nobody's here", () => {
    assert.deepEqual(namesOf([["10.50.0.0/16", "10.50.0.0/16"]], [["10.42.0.0/16", "240.0.0.0/16"]]), [
      { range: "240.0.0.0/16", called: "10.42.0.0/16" },
    ]);
    for (const taken of ["10.42.0.0/20", "10.0.0.0/8"])
      assert.deepEqual(namesOf([["10.50.0.0/16", "10.50.0.0/16"]], [["10.42.0.0/16", "240.0.0.0/16"]], [taken]), []);
  });

  it("is nothing where both say the same", () => {
    assert.deepEqual(namesOf([["10.50.0.0/16", "10.50.0.0/16"]], [["10.42.0.0/16", "10.42.0.0/16"]]), []);
  });

  it("is no word that means something here", () => {
    const same: [string, string][] = [["10.42.0.0/16", "240.0.0.0/16"]];
    assert.deepEqual(namesOf(same, same), [], "it is what the consumer's own pods are called");
    assert.deepEqual(namesOf([["10.42.0.0/16", "192.168.0.0/16"]], [], ["192.168.7.0/24"]), []);
  });

  it("is nothing that is exported", () => {
    assert.deepEqual(namesOf([["252.0.0.0/20", "240.9.0.0/20"]], [["252.0.0.0/20", "240.8.0.0/20"]]), []);
  });
});
