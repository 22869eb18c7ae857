import assert from "node:assert/strict";
import { test } from "node:test";
import { normalOutput } from "./normal-output.ts";

const words = { site: "site-1", server: "https://127.0.0.1:7001" };

const entry = (manager: string) => `    - apiVersion: v1
      fieldsV1:
        f:data: {}
      manager: ${manager}
      time: "2026-01-02T03:04:05Z"
`;
const object = (...managers: string[]) => `items:
- metadata:
    managedFields:
${managers.map(entry).join("")}    name: a
- metadata:
    name: b
`;

test("managed fields are compared whatever their order, and nothing else is", () => {
  assert.equal(normalOutput(object("kubectl", "other"), words), normalOutput(object("other", "kubectl"), words));
  assert.notEqual(normalOutput(object("kubectl", "other"), words), normalOutput(object("kubectl"), words));
  assert.match(normalOutput(object("kubectl"), words), /manager: kubectl\n {6}time: "TIME"\n {4}name: a\n- metadata:/);
  assert.notEqual(normalOutput("a\nb", words), normalOutput("b\na", words));
});

test("times are times, in whatever form", () => {
  assert.equal(normalOutput("modifiedAt=1794846444,name=port", words), "modifiedAt=TIME,name=port");
});
