import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInSchemas } from "../schema/built-in-schemas.ts";
import { builtInTypes } from "./index.ts";

const types = builtInTypes(builtInSchemas());
const find = (group: string, kind: string) => types.find((one) => one.group === group && one.kind === kind);

test("each resource of discovery is one type, with its names", () => {
  const deployments = find("apps", "Deployment");
  assert.deepEqual(deployments?.shortNames, ["deploy"]);
  assert.deepEqual(deployments?.categories, ["all"]);
  assert.equal(new Set(types.map(({ group, plural }) => `${group}/${plural}`)).size, types.length);
});

test("a type has the subresources that discovery has", async () => {
  const { builtInResources } = await import("../schema/built-in-resources.ts");
  const missing = builtInResources()
    .filter(({ group, kind, version }) => find(group, kind)?.version === version)
    .flatMap((resource) =>
      resource.subresources
        .filter(({ name }) => find(resource.group, resource.kind)?.subresources[name] === undefined)
        .map(({ name }) => `${resource.plural}/${name}`),
    );
  assert.deepEqual(missing, []);
});
