import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { builtInSchemas } from "./built-in-schemas.ts";
import { Decoder, type FieldValidation, type GroupVersionKind } from "./decode.ts";
import { GoTypes } from "./go-types.ts";
import type { Schema } from "./schema.ts";

const schemas = builtInSchemas();
const decoder = new Decoder(schemas, new GoTypes());
const kinds: Record<string, GroupVersionKind> = {
  pod: { group: "", version: "v1", kind: "Pod" },
  configMap: { group: "", version: "v1", kind: "ConfigMap" },
  secret: { group: "", version: "v1", kind: "Secret" },
  deployment: { group: "apps", version: "v1", kind: "Deployment" },
  clusterRole: { group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRole" },
  service: { group: "", version: "v1", kind: "Service" },
};

function decode(kind: string, text: string, fieldValidation: FieldValidation = "Warn", mediaType = "application/json") {
  const expected = kinds[kind] as GroupVersionKind;
  const schema = schemas.of(expected) as Schema;
  return decoder.decode(Buffer.from(text), mediaType, { expected, schema, fieldValidation });
}

const spec = (object: KubeObject) => (object as unknown as { spec: Record<string, unknown> }).spec;

test("warns of unknown and duplicate fields in the order they are written in", () => {
  const text = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","name":"b","foo":1},"spec":{"bar":1,
    "template":{"spec":{"containers":[{"name":"x","baz":1,"ports":[{"containerPort":80,"foo":1,"foo":2}]}]}}}}`;
  assert.deepEqual(decode("deployment", text).warnings, [
    'duplicate field "metadata.name"',
    'unknown field "metadata.foo"',
    'unknown field "spec.bar"',
    'unknown field "spec.template.spec.containers[0].baz"',
    'unknown field "spec.template.spec.containers[0].ports[0].foo"',
  ]);
  assert.deepEqual(decode("deployment", text, "Ignore").warnings, []);
  assert.equal(decode("deployment", text).object.metadata.name, "b");
});

test("strict reading refuses all of them at once", () => {
  const text = '{"metadata":{"name":"b","name":"b","foo":1},"spec":{"bar":1}}';
  assert.throws(() => decode("deployment", text, "Strict"), {
    code: 400,
    reason: "BadRequest",
    message:
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: ' +
      'duplicate field "metadata.name", unknown field "metadata.foo", unknown field "spec.bar"',
  });
});

test("tells duplicates in YAML by line", () => {
  const text =
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  name: z\n  foo: 5\nbar: 1\ndata:\n  a: "x"\n  a: "x"\n';
  const { object, warnings } = decode("configMap", text, "Warn", "application/yaml");
  assert.equal(object.metadata.name, "z");
  assert.deepEqual(warnings, [
    'line 5: key "name" already set in map',
    'line 10: key "a" already set in map',
    'unknown field "bar"',
    'unknown field "metadata.foo"',
  ]);
  assert.throws(() => decode("configMap", text, "Strict", "application/yaml"), {
    message:
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n' +
      '  line 5: key "name" already set in map\n  line 10: key "a" already set in map, ' +
      'unknown field "bar", unknown field "metadata.foo"',
  });
});

// Each is the answer of a real API server.
const podErrors: Record<string, string> = {
  '"containers":"x"':
    "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
  '"containers":[1]': "json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type v1.Container",
  '"containers":[{"name":1}]':
    "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string",
  '"containers":[{"ports":[{"containerPort":"80"}]}]':
    "json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
  '"containers":[{"ports":[{"protocol":80}]}]':
    "json: cannot unmarshal number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol",
  '"nodeSelector":{"a":1}':
    "json: cannot unmarshal number into Go struct field PodSpec.spec.nodeSelector of type string",
  '"nodeSelector":[]':
    "json: cannot unmarshal array into Go struct field PodSpec.spec.nodeSelector of type map[string]string",
  '"hostNetwork":"true"': "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
  '"containers":[{"resources":{"requests":{"cpu":"abc"}}}]':
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  '"containers":[{"livenessProbe":{"httpGet":{"port":1.5}}}]':
    "json: cannot unmarshal number 1.5 into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
  '"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]':
    "json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
  '"containers":[{"securityContext":5}]':
    "json: cannot unmarshal number into Go struct field Container.spec.containers.securityContext of type v1.SecurityContext",
  '"containers":[{"command":[1]}]':
    "json: cannot unmarshal number into Go struct field Container.spec.containers.command of type string",
  '"volumes":[{"name":"a","configMap":{"name":5}}]':
    "json: cannot unmarshal number into Go struct field ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.LocalObjectReference.name of type string",
  '"containers":[{"resources":{"requests":[]}}]':
    "json: cannot unmarshal array into Go struct field ResourceRequirements.spec.containers.resources.requests of type v1.ResourceList",
  '"hostNetwork":1, "nodeSelector":{"a":1}':
    "json: cannot unmarshal number into Go struct field PodSpec.spec.hostNetwork of type bool",
  '"terminationGracePeriodSeconds":3.5':
    "json: cannot unmarshal number 3.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
};

test("says of a value of another type what Go says", () => {
  for (const [part, message] of Object.entries(podErrors)) {
    assert.throws(() => decode("pod", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"},"spec":{${part}}}`), {
      code: 400,
      message: `Pod in version "v1" cannot be handled as a Pod: ${message}`,
    });
  }
  assert.throws(
    () => decode("pod", '{"metadata":{"creationTimestamp":5}}'),
    /ObjectMeta.metadata.creationTimestamp of type string$/,
  );
  assert.throws(() => decode("secret", '{"data":{"a":5}}'), /Go struct field Secret.data of type \[\]uint8$/);
  assert.throws(() => decode("secret", '{"data":{"a":"YQ"}}'), /: illegal base64 data at input byte 0$/);
});

const bodies: Record<string, string> = {
  "": "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
  "[]": `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)`,
  x: "couldn't get version/kind; json parse error: invalid character 'x' looking for beginning of value (78)",
  '{"apiVersion":5,"kind":"Pod"}':
    'couldn\'t get version/kind; json parse error: json: cannot unmarshal number into Go struct field .apiVersion of type string ({"apiVersion":5,"kind":"Pod"})',
  '{"apiVersion":"a/b/c","kind":"Pod"}': 'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)',
};

test("says of a body that is no object what the server says", () => {
  for (const [body, message] of Object.entries(bodies)) {
    assert.throws(() => decode("configMap", body), {
      code: 400,
      message: `the object provided is unrecognized (must be of type ConfigMap): ${message}`,
    });
  }
});

test("takes a body without version and kind for what the path says, and refuses another one", () => {
  const { apiVersion, kind } = decode("configMap", '{"metadata":{"name":"x"}}').object;
  assert.deepEqual([apiVersion, kind], ["v1", "ConfigMap"]);
  assert.throws(() => decode("configMap", '{"apiVersion":"v1","kind":"Foo"}'), {
    message:
      'Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
  });
  assert.throws(() => decode("configMap", '{"apiVersion":"apps/v1","kind":"Deployment"}'), {
    message:
      'Deployment in version "v1" cannot be handled as a ConfigMap: converting (v1.Deployment) to (core.ConfigMap): unknown conversion',
  });
});

test("a media type that is not known is refused", () => {
  assert.throws(() => decode("configMap", "{}", "Warn", "text/plain"), { code: 415, reason: "UnsupportedMediaType" });
});

test("leaves out empty fields where Kubernetes' own types do", () => {
  const { object } = decode(
    "pod",
    `{"metadata":{"name":"c","labels":{},"creationTimestamp":null},"spec":{"hostNetwork":false,"nodeSelector":{},
      "securityContext":{},"terminationGracePeriodSeconds":0,"containers":[{"name":"x","args":[],"stdin":false}]}}`,
  );
  assert.deepEqual(object.metadata, { name: "c" });
  assert.deepEqual(spec(object), {
    securityContext: {},
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "x" }],
  });
});

test("writes amounts and times in one form, and null in a map as nothing", () => {
  const { object } = decode(
    "pod",
    `{"metadata":{"labels":{"a":null},"creationTimestamp":"2020-01-01T01:00:00+01:00"},
      "spec":{"containers":[{"name":"x","resources":{"requests":{"cpu":0.5,"memory":"1024Mi"}}}]}}`,
  );
  assert.deepEqual(object.metadata.labels, { a: "" });
  assert.equal(object.metadata.creationTimestamp, "2020-01-01T00:00:00Z");
  const [container] = spec(object).containers as { resources: unknown }[];
  assert.deepEqual(container?.resources, { requests: { cpu: "500m", memory: "1Gi" } });
});

test("a field named like a part of JavaScript is an unknown field", () => {
  const { object, warnings } = decode("pod", '{"metadata":{"__proto__":{"x":1},"constructor":1}}');
  assert.deepEqual(warnings, ['unknown field "metadata.__proto__"', 'unknown field "metadata.constructor"']);
  assert.deepEqual(Object.keys(object.metadata), []);
});
