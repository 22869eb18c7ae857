import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseLabelSelector, SelectorError } from "./label-selector.ts";

test("selectors match as Kubernetes' do", () => {
  const labels = { app: "web", tier: "front", in: "x", size: "10", "example.com/a": "" };
  const cases: [selector: string, matches: boolean][] = [
    ["", true],
    ["app", true],
    ["!app", false],
    ["!none", true],
    ["app=web", true],
    ["app==web,tier!=back", true],
    ["app in (web, db)", true],
    ["app notin (web,db)", false],
    ["none notin (a)", true],
    ["none!=a", true],
    ["in in (x)", true],
    ["in", true],
    ["size>9", true],
    ["size<10", false],
    ["app>1", false],
    ["example.com/a=", true],
    ["example.com/a in ()", true],
    ["app in (,web)", true],
    [" app = web , tier ", true],
  ];
  for (const [selector, matches] of cases) assert.equal(parseLabelSelector(selector)(labels), matches, selector);
});

test("what is no selector is refused in Kubernetes' words", () => {
  const cases: [selector: string, message: RegExp][] = [
    ["a b", /^unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt$/],
    [",a", /^found ',', expected: !, identifier, or 'end of string'$/],
    ["a,", /^found '', expected: identifier after ','$/],
    ["a in x", /^unable to parse requirement: found 'x' expected: '\('$/],
    ["a=b=c", /^found '=', expected: ',' or 'end of string'$/],
    ["-a", /^unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of/],
    ["a=b c", /^found 'c', expected: ',' or 'end of string'$/],
    ["a>b", /the value must be an integer/],
  ];
  for (const [selector, message] of cases) assert.throws(() => parseLabelSelector(selector), { message });
});

test("any text is a selector or refused", () => {
  const piece = fc.constantFrom("a", "b", "in", "notin", "=", "==", "!=", "!", ",", "(", ")", " ", ">", "<", "1", "/");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      try {
        parseLabelSelector(pieces.join(""))({ a: "b" });
      } catch (error) {
        assert(error instanceof SelectorError);
      }
    }),
  );
});
