import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonPath } from "./jsonpath.ts";

const list = {
  kind: "List",
  items: [
    {
      metadata: { name: "harbour", labels: { "app.kubernetes.io/name": "fjord" } },
      status: { conditions: [{ type: "Ready", status: "True" }], since: 3, up: true },
    },
    { metadata: { name: "lively-wave" }, status: { conditions: [{ type: "Ready", status: "False" }], since: 7 } },
  ],
};
const print = (template: string) => jsonPath(template)(list);

describe("jsonpath, as kubectl has it", () => {
  const cases: Readonly<Record<string, string>> = {
    "{.kind}": "List",
    "kind is {.kind}.": "kind is List.",
    "{.items[*].metadata.name}": "harbour lively-wave",
    "{.items[0].metadata.name}": "harbour",
    "{.items[-1:].metadata.name}": "lively-wave",
    "{.items[0:1].metadata.name}": "harbour",
    "{.items[0,1].metadata.name}": "harbour lively-wave",
    "{$.items[1]['metadata']['name']}": "lively-wave",
    "{.items[*]['metadata.name', 'kind']}": "",
    "{range .items[*]}{.metadata.name}{'\\t'}{.status.since}{\"\\n\"}{end}": "harbour\t3\nlively-wave\t7\n",
    "{range .items[*]}{.metadata.name}={range .status.conditions[*]}{.type}{end} {end}":
      "harbour=Ready lively-wave=Ready ",
    '{.items[?(@.metadata.name=="harbour")].status.since}': "3",
    "{.items[?(@.status.since>3)].metadata.name}": "lively-wave",
    "{.items[?(@.status.up)].metadata.name}": "harbour",
    "{.items[?(@.status.up==true)].metadata.name}": "harbour",
    '{.items[*].status.conditions[?(@.type=="Ready")].status}': "True False",
    "{.items[0].metadata.labels.app\\.kubernetes\\.io/name}": "fjord",
    "{..name}": "harbour lively-wave",
    "{.items[0].status.conditions}": '[{"status":"True","type":"Ready"}]',
    "{.nothing.there}": "",
    "{.items[9].metadata.name}": "",
  };
  for (const [template, expected] of Object.entries(cases)) it(template, () => assert.equal(print(template), expected));

  for (const wrong of [
    "{.kind",
    "{range .items[*]}",
    "{end}",
    "{kind}",
    "{.items[x]}",
    "{.items[?(@.a=)]}",
    "{.a[0}",
    "{@",
    "{@x}",
    "{@@x",
  ])
    it(`${wrong} is refused`, () => assert.throws(() => jsonPath(wrong), /jsonpath=.* cannot be read/s));

  it("says that a brace is not closed", () => {
    for (const open of ["{.bad", "{", "{.a "]) assert.throws(() => jsonPath(open), /a \{ has no \}/, open);
  });
});
