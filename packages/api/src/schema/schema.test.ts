import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  array,
  boolean,
  duration,
  enumeration,
  fillDefaults,
  type InOf,
  integer,
  labelName,
  map,
  type OutOf,
  object,
  opaque,
  quantity,
  string,
} from "./index.ts";

/** Compiles only where the two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

const sample = object({
  name: labelName().describe("A name."),
  size: integer({ minimum: 1 }).default(3),
  mode: enumeration({ Fast: "quick.", Safe: "careful." }).optional(),
  nested: object({
    on: boolean().default(true),
    tags: map(string({ maxLength: 5 }), { maxProperties: 2 }).optional(),
  }).default({}),
  items: array(object({ amount: quantity() }), { maxItems: 3 }).optional(),
});

describe("types", () => {
  it("tell a reader what is surely there", () => {
    type Expected = {
      name: string;
      size: number;
      nested: { on: boolean; tags?: Record<string, string> };
      mode?: "Fast" | "Safe";
      items?: { amount: string | number }[];
    };
    holds<Same<OutOf<typeof sample>, Expected>>();
    // @ts-expect-error: an optional field may be missing
    holds<Same<OutOf<typeof sample>["mode"], "Fast" | "Safe">>();
  });

  it("let a writer leave out what has a default", () => {
    type Expected = {
      name: string;
      size?: number;
      nested?: { on?: boolean; tags?: Record<string, string> };
      mode?: "Fast" | "Safe";
      items?: { amount: string | number }[];
    };
    holds<Same<InOf<typeof sample>, Expected>>();
  });
});

describe("an object", () => {
  it("requires what is neither optional nor defaulted", () => {
    assert.deepEqual(sample.node.required, ["name"]);
    assert.equal("required" in object({ a: boolean().optional() }).node, false);
  });

  it("carries the defaults below it in its own default, since the server checks rules against it as it stands", () => {
    assert.deepEqual(sample.node.properties?.nested?.default, { on: true });
  });

  it("drops unknown fields unless it is open", () => {
    assert.equal(object({}).node["x-kubernetes-preserve-unknown-fields"], undefined);
    assert.equal(object({}, { open: true }).node["x-kubernetes-preserve-unknown-fields"], true);
    assert.equal(opaque().node["x-kubernetes-preserve-unknown-fields"], true);
  });
});

describe("immutable", () => {
  const advice = "make another";

  it("is the field's own rule where the field is always there", () => {
    const { properties } = object({
      a: boolean().immutable(advice),
      b: boolean().default(true).immutable(advice),
    }).node;
    const rules = [{ rule: "self == oldSelf", message: "cannot be changed: make another" }];
    assert.deepEqual(properties?.a?.["x-kubernetes-validations"], rules);
    assert.deepEqual(properties?.b?.["x-kubernetes-validations"], rules);
  });

  it("is its parent's rule where the field may be missing, so that it cannot be taken out and set again", () => {
    const { node } = object({ namespace: labelName().immutable(advice).optional() });
    const [rule] = node["x-kubernetes-validations"] ?? [];
    assert.equal(
      rule?.rule,
      "!has(oldSelf.__namespace__) || (has(self.__namespace__) && self.__namespace__ == oldSelf.__namespace__)",
    );
    assert.equal(rule?.fieldPath, ".namespace");
  });
});

describe("a list", () => {
  it("is atomic, a set, or a map by its keys", () => {
    const item = object({ key: labelName() });
    assert.equal(array(item, { maxItems: 1 }).node["x-kubernetes-list-type"], "atomic");
    assert.equal(array(labelName(), { maxItems: 1, set: true }).node["x-kubernetes-list-type"], "set");
    const keyed = array(item, { maxItems: 1, keys: ["key"] }).node;
    assert.equal(keyed["x-kubernetes-list-type"], "map");
    assert.deepEqual(keyed["x-kubernetes-list-map-keys"], ["key"]);
  });
});

describe("a schema", () => {
  it("is not changed by deriving another from it", () => {
    const plain = duration();
    plain.describe("x").optional();
    plain.default("1s").rule("true", "never");
    assert.equal(plain.node.description, undefined);
    assert.equal(plain.node.default, undefined);
    assert.equal(plain.node["x-kubernetes-validations"]?.length, 1);
    assert.equal(plain.presence, "required");
  });

  it("puts the meaning of an enumeration's words behind the description", () => {
    const { node } = enumeration({ Fast: "quick.", Safe: "careful." }).describe("How.");
    assert.equal(node.description, "How. `Fast`: quick. `Safe`: careful.");
    assert.deepEqual(node.enum, ["Fast", "Safe"]);
  });
});

describe("filling defaults", () => {
  const plain = { requiredKeys: [] as [], noNullPrototype: true };
  const tags = fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true });
  const items = fc.array(fc.record({ amount: fc.string() }, { noNullPrototype: true }));
  const nested = fc.record({ on: fc.boolean(), tags }, plain);
  const drafts = fc.record({ name: fc.string(), size: fc.integer(), nested, items }, plain);

  it("keeps all that was given, adds what was not, and changes nothing the second time", () => {
    fc.assert(
      fc.property(drafts, (draft) => {
        const before = structuredClone(draft);
        const filled = fillDefaults(sample.node, draft) as typeof draft;
        assert.deepEqual(draft, before);
        assert.equal(filled.size, draft.size ?? 3);
        assert.equal(filled.nested?.on, draft.nested?.on ?? true);
        assert.deepEqual(filled.nested?.tags, draft.nested?.tags);
        assert.deepEqual(filled.items, draft.items);
        assert.deepEqual(fillDefaults(sample.node, filled), filled);
      }),
    );
  });
});
