import assert from "node:assert/strict";
import { test } from "node:test";
import { CostAccount } from "../cel/index.ts";
import type { FieldError } from "../field-error.ts";
import { finish } from "../pace.ts";
import { compileRules } from "./cel-rules.ts";
import type { JsonSchema } from "./json-schema.ts";

const keyed: JsonSchema = {
  type: "object",
  properties: {
    parts: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["id"],
      items: {
        type: "object",
        properties: { id: { type: "string" }, size: { type: "integer" } },
        "x-kubernetes-validations": [{ rule: "self.size >= oldSelf.size" }, { rule: "self.size < 10" }],
      },
    },
  },
};

function told(value: unknown, old?: unknown): string[] {
  const check = compileRules(keyed, {});
  assert(check !== undefined);
  const errors: FieldError[] = finish(check(value, old, "", new CostAccount()));
  return errors.map(({ field, detail }) => `${field} ${detail}`);
}

test("elements are compared with what they were, wherever they were", () => {
  const old = { parts: [{ id: "a", size: 3 }, { id: "b", size: 5 }, "no object"] };
  assert.deepEqual(
    told(
      {
        parts: [
          { id: "b", size: 4 },
          { id: "a", size: 3 },
          { id: "new", size: 0 },
        ],
      },
      old,
    ),
    ["parts[0] failed rule: self.size >= oldSelf.size"],
  );
  assert.deepEqual(told({ parts: [{ id: "a", size: 10 }] }), ["parts[0] failed rule: self.size < 10"]);
});

/** How often others might go on meanwhile, and what is told in the end. */
function paced(schema: JsonSchema, value: unknown, old?: unknown): { pauses: number; errors: FieldError[] } {
  const check = compileRules(schema, {});
  assert(check !== undefined);
  const steps = check(value, old, "", new CostAccount());
  for (let pauses = 0; ; pauses++) {
    const step = steps.next();
    if (step.done) return { pauses, errors: step.value };
  }
}

test("thousands of rules are run one after the other, and others may go on in between", () => {
  const parts = Array.from({ length: 5_000 }, (_, n) => ({ id: String(n), size: 1 }));
  const { pauses, errors } = paced(keyed, { parts }, { parts: parts.toReversed() });
  assert.deepEqual(errors, []);
  assert(pauses >= 5_000, `${pauses}`);
});

test("thousands of rules for one value, too", () => {
  const rules = Array.from({ length: 1_000 }, (_, n) => ({ rule: `self.x != ${n}` }));
  const properties: JsonSchema["properties"] = { x: { type: "integer" } };
  const { pauses, errors } = paced({ type: "object", properties, "x-kubernetes-validations": rules }, { x: 7 });
  assert.deepEqual(
    errors.map(({ detail }) => detail),
    ["failed rule: self.x != 7"],
  );
  assert(pauses >= 1_000, `${pauses}`);
});

test("rules share what an object's checks may cost, also where they are run in parts", () => {
  const check = compileRules(keyed, {});
  assert(check !== undefined);
  const account = new CostAccount();
  const before = account.left;
  const parts = Array.from({ length: 100 }, (_, n) => ({ id: String(n), size: 1 }));
  finish(check({ parts }, undefined, "", account));
  const spent = before - account.left;
  assert(spent > 0);
  account.left = spent / 2;
  const errors: FieldError[] = finish(check({ parts }, undefined, "", account));
  assert.equal(errors.length, 1);
  assert.match(errors[0]?.detail ?? "", /actual cost limit exceeded.*no further validation rules will be run/);
});

test("a thousand mistakes are told of, not more", () => {
  const parts = Array.from({ length: 5_000 }, (_, n) => ({ id: String(n), size: 11 }));
  assert.equal(told({ parts }).length, 1_000);
});
