import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources } from "./built-in-resources.ts";
import { builtInSchemas } from "./built-in-schemas.ts";
import type { Schema } from "./schema.ts";

const at = (schema: Schema | undefined, path: string): Schema | undefined =>
  path.split(".").reduce<Schema | undefined>((part, name) => {
    if (name === "[]") return part?.items;
    return name === "{}" ? part?.additionalProperties : part?.properties?.[name];
  }, schema);

const pod = { group: "", version: "v1", kind: "Pod" };

test("knows list types, merge keys and defaults of a pod", () => {
  const schema = builtInSchemas().of(pod);
  const containers = at(schema, "spec.containers");
  assert.equal(containers?.listType, "map");
  assert.deepEqual(containers?.listMapKeys, ["name"]);
  assert.equal(containers?.patchStrategy, "merge");
  assert.equal(containers?.patchMergeKey, "name");
  assert.deepEqual(at(schema, "spec.containers.[].ports")?.listMapKeys, ["containerPort", "protocol"]);
  assert.equal(at(schema, "spec.containers.[].ports.[].protocol")?.default, "TCP");
  assert.equal(at(schema, "spec.nodeSelector")?.atomic, true);
});

test("tells apart what OpenAPI calls strings and objects", () => {
  const schema = builtInSchemas().of(pod);
  assert.equal(at(schema, "spec.containers.[].livenessProbe.httpGet.port")?.type, "int-or-string");
  assert.equal(at(schema, "spec.containers.[].resources.requests.{}")?.format, "quantity");
  assert.equal(at(schema, "metadata.creationTimestamp")?.format, "date-time");
  const lease = builtInSchemas().of({ group: "coordination.k8s.io", version: "v1", kind: "Lease" });
  assert.equal(at(lease, "spec.renewTime")?.format, "micro-time");
});

test("equal parts are one object, also where a schema holds itself", () => {
  const schemas = builtInSchemas();
  const deployment = schemas.of({ group: "apps", version: "v1", kind: "Deployment" });
  assert.equal(at(deployment, "spec.template.spec.containers")?.items, at(schemas.of(pod), "spec.containers")?.items);
  const crd = schemas.of({ group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" });
  const props = at(crd, "spec.versions.[].schema.openAPIV3Schema");
  assert.equal(at(props, "properties.{}")?.properties, props?.properties);
});

test("an unknown kind has none", () => {
  assert.equal(builtInSchemas().of({ group: "", version: "v1", kind: "Nothing" }), undefined);
});

test("every resource that can be written has a schema, and so have its subresources", () => {
  const schemas = builtInSchemas();
  const resources = builtInResources();
  assert.ok(resources.length > 60, `${resources.length} resources`);
  const missing = resources
    .flatMap((one) => [one, ...one.subresources])
    .filter(({ kind }) => !kind.endsWith("Options"))
    .filter((one) => schemas.of(one) === undefined);
  assert.deepEqual(missing, []);
});

test("tells of resources what discovery tells", () => {
  const resources = builtInResources();
  const deployments = resources.find(({ plural }) => plural === "deployments");
  assert.deepEqual(deployments?.shortNames, ["deploy"]);
  assert.deepEqual(deployments?.categories, ["all"]);
  assert.equal(deployments?.namespaced, true);
  const scale = deployments?.subresources.find(({ name }) => name === "scale");
  assert.deepEqual([scale?.group, scale?.version, scale?.kind], ["autoscaling", "v1", "Scale"]);
});
