import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInTypes } from "./kinds/index.ts";
import { builtInSchemas } from "./schema/index.ts";
import { withConditionsChecked } from "./webhook-conditions.ts";

test("a condition that cannot be read is refused with its place", () => {
  const types = builtInTypes(builtInSchemas()).map(withConditionsChecked);
  const type = types.find(({ kind }) => kind === "ValidatingWebhookConfiguration");
  const object = (expression: string) => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "a" },
    webhooks: [
      {
        name: "a.example.com",
        clientConfig: { url: "https://example.com" },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        matchConditions: [{ name: "c", expression }],
      },
    ],
  });
  const told = type?.strategy.validate?.(object("a bad( expression")).map(({ field }) => field);
  assert.deepEqual(told, ["webhooks[0].matchConditions[0].expression"]);
  assert.deepEqual(type?.strategy.validate?.(object("request.operation == 'CREATE'")), []);
});
