import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ApiError, KubeClient } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { type Microkube, startMicrokube } from "../microkube.ts";

// Bodies of all sorts, to a real API server and to microkube: the answers are the same, warnings included.

const configMaps = "/api/v1/namespaces/default/configmaps";
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const secrets = "/api/v1/namespaces/default/secrets";
const quotas = "/api/v1/namespaces/default/resourcequotas";
const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const events = "/api/v1/namespaces/default/events";
const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";

const podSpec = (spec: string) =>
  `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":${spec}}}}`;
const container = (more: string) => podSpec(`{"containers":[{"name":"c","image":"i",${more}}]}`);
const quota = (cpu: string) => `{"metadata":{"name":"q"},"spec":{"hard":{"cpu":${cpu}}}}`;
const event = (time: string) => `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"},${time}}`;

const bodies: readonly (readonly [path: string, body: string, type?: string])[] = [
  ...[
    "",
    "{",
    "[]",
    "x",
    '"x"',
    "null",
    "5",
    "{}",
    '{"kind":"ConfigMap"}',
    '{"apiVersion":"v1"}',
    '{"apiVersion":"v1","kind":"Foo"}',
    '{"apiVersion":"v2","kind":"ConfigMap"}',
    '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}',
    '{"apiVersion":"v1","kind":"Pod"}',
    '{"apiVersion":5,"kind":"Pod"}',
    '{"apiVersion":"a/b/c","kind":"Pod"}',
    '{"metadata":{"name":"x"}} x',
    '{"metadata":{"name":"x"}}{}',
    '{"metadata":{"name":"x"},}',
    '{"metadata":{"name":"x"',
    "{'a':1}",
    '{"metadata":{"name":"x"},"data":{"a":"\\q"}}',
    '{"metadata":{"name":"x"},"data":{"a":tru}}',
    '{"metadata":{"name":"x"},"data":{"a":01}}',
    '{"metadata":{"name":"x"} "data":{}}',
    '{"data":{"a":"\n"}}',
    '{"metadata":{"name":5}}',
    '{"metadata":[]}',
    '{"metadata":"x"}',
    '{"metadata":{"name":"x","labels":{"a":1}}}',
    '{"metadata":{"name":"x","labels":[]}}',
    '{"metadata":{"name":"x","generation":"x"}}',
    '{"metadata":{"name":"x","creationTimestamp":"x"}}',
    '{"metadata":{"name":"x","creationTimestamp":5}}',
    '{"metadata":{"name":"x","ownerReferences":[{"controller":"x"}]}}',
    '{"metadata":{"name":"x","labels":{"a":null},"annotations":null}}',
    '{"metadata":{"name":"x","name":"y","foo":1},"foo":1,"data":{"a":"b","a":"c"},"binaryData":{"b":"YQ=="}}',
    '{"metadata":{"name":"x"},"data":{},"binaryData":null,"immutable":false}',
    '{"metadata":{"name":"x"},"immutable":"true"}',
    '{"metadata":{"name":"x"},"data":{"a":1}}',
    '{"metadata":{"name":"x"},"binaryData":{"a":"%"}}',
  ].map((body) => [configMaps, body] as const),
  [
    configMaps,
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  name: z\n  foo: 5\nbar: 1\ndata:\n  a: "x"\n  a: "x"\n',
    "application/yaml",
  ],
  [configMaps, "metadata:\n  name: x\ndata:\n  a: 5\n", "application/yaml"],
  [configMaps, "metadata:\n  name: y\n", "application/yaml"],
  [configMaps, "metadata: {name: x}\ndata:\n  a: |\n    b\n  c: 'd'\n", "application/yaml"],
  [configMaps, "- a", "application/yaml"],
  [configMaps, "a", "application/yaml"],
  [configMaps, "{}", "text/plain"],
  [secrets, '{"metadata":{"name":"c"},"data":{"a":"%%"}}'],
  [secrets, '{"metadata":{"name":"c"},"data":{"a":5}}'],
  [secrets, '{"metadata":{"name":"c"},"data":{"a":"YQ"}}'],
  [secrets, '{"metadata":{"name":"c"},"data":{"a":"YQ=="},"stringData":{"b":"c"}}'],
  ...['"x"', "1.5", "3000000000", "true", "[]", "{}", "null"].map(
    (value) => [deployments, `{"metadata":{"name":"c"},"spec":{"replicas":${value}}}`] as const,
  ),
  ...[
    '{"containers":"x"}',
    '{"containers":{}}',
    '{"containers":[1]}',
    '{"containers":[{"name":1}]}',
    '{"nodeSelector":{"a":1}}',
    '{"nodeSelector":[]}',
    '{"hostNetwork":"true"}',
    '{"terminationGracePeriodSeconds":"30"}',
    '{"securityContext":"x"}',
    '{"volumes":[{"name":"a","emptyDir":5}]}',
    '{"volumes":[{"name":"a","configMap":{"name":5}}]}',
    '{"hostNetwork":1, "nodeSelector":{"a":1}}',
    '{"containers":[{"name":"c","image":"i"}],"nodeSelector":{},"volumes":[],"hostNetwork":false,"foo":1}',
  ].map((spec) => [deployments, podSpec(spec)] as const),
  ...[
    '"ports":[{"containerPort":"80"}]',
    '"ports":[{"protocol":80}]',
    '"resources":{"requests":{"cpu":"abc"}}',
    '"resources":{"requests":{"cpu":true}}',
    '"resources":{"requests":[]}',
    '"resources":5',
    '"livenessProbe":{"httpGet":{"port":1.5}}',
    '"livenessProbe":{"httpGet":{"port":true}}',
    '"livenessProbe":{"exec":[]}',
    '"securityContext":5',
    '"env":[{"name":"a","value":5}]',
    '"command":"sh"',
    '"command":[1]',
    '"args":[],"env":null,"stdin":false,"resources":{"limits":{"cpu":"1000m","memory":"1024Mi"}}',
    '"ports":[{"containerPort":80,"foo":1},{"containerPort":81,"foo":1}]',
  ].map((more) => [deployments, container(more)] as const),
  ...["1000m", "1.5Gi", "0.5", "1e3", "12e-1", "", "1x", "1.5.5", "1e", "100k", "1024Mi"].map(
    (text) => [quotas, quota(JSON.stringify(text))] as const,
  ),
  ...["0.5", "1", "null", "true"].map((value) => [quotas, quota(value)] as const),
  [roles, '{"metadata":{"name":"r"},"rules":[]}'],
  [revisions, '{"metadata":{"name":"x"},"revision":1}'],
  [revisions, '{"metadata":{"name":"x"},"revision":1,"data":{"b":1,"a":null}}'],
  ...[
    '"eventTime":"2020-01-01T00:00:00Z"',
    '"eventTime":"2020-01-01T00:00:00.123456789+02:00"',
    '"firstTimestamp":"2020-13-01T00:00:00Z"',
    '"firstTimestamp":"2020-12-01 00:00:00Z"',
    '"firstTimestamp":"2020-12-01T00:00:00"',
    '"firstTimestamp":"2020-12-01T00:00:00Zx"',
    '"firstTimestamp":""',
    '"firstTimestamp":"2020-01-01T00:00:00.5+01:00","lastTimestamp":null',
  ].map((time) => [events, event(time)] as const),
];

describe("bodies are read as a real API server reads them", { skip: kubernetesSkip() }, () => {
  let site: SharedTestSite;
  let client: KubeClient;
  let microkube: Microkube;
  let ours: KubeClient;

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config, { userAgent: "test" });
    microkube = await startMicrokube({ controllers: false, scheduler: false });
    ours = microkube.client();
  });
  after(async () => {
    await Promise.all([client?.close(), ours?.close()]);
    await microkube?.close();
  });

  for (const [path, body, type = "application/json"] of bodies) {
    for (const fieldValidation of ["Warn", "Strict"]) {
      test(`${path.slice(path.lastIndexOf("/") + 1)} ${fieldValidation} ${body}`, async () => {
        const [theirs, mine] = await Promise.all(
          [client, ours].map((by) => ask(by, path, body, type, fieldValidation)),
        );
        assert.deepEqual(mine, theirs);
      });
    }
  }
});

async function ask(
  by: KubeClient,
  path: string,
  body: string,
  type: string,
  fieldValidation: string,
): Promise<unknown> {
  const query = { dryRun: "All", fieldValidation, fieldManager: "test" };
  try {
    const answer = await by.raw("POST", path, { query, headers: { "content-type": type }, body });
    const all = [answer.headers.warning ?? []].flat().join(", ");
    const warnings = [...all.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, one]) => JSON.parse(`"${one}"`));
    return { object: plain(JSON.parse(answer.body.toString())), warnings };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { message, reason, details } = error.status ?? {};
    return {
      code: error.statusCode,
      message,
      reason,
      causes: new Set(details?.causes?.map((one) => JSON.stringify(one))),
    };
  }
}

function plain(object: { metadata: { managedFields?: { time?: string }[] } & Record<string, unknown> }): unknown {
  for (const name of ["uid", "creationTimestamp"]) object.metadata[name] = typeof object.metadata[name];
  for (const entry of object.metadata.managedFields ?? []) entry.time = typeof entry.time;
  return object;
}
