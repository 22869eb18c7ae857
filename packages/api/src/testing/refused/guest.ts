import { ShadowPod, TwinNamespace } from "../../kinds/index.ts";
import { type Refusal, refuses, refusesChanges } from "./refusal.ts";
import { labels, notAName } from "./shared.ts";

const pod = (spec: object) => ({ spec: { pod: { spec } } });
const twinStays = "cannot be changed: delete this TwinNamespace and make another";

export const refusedTwinNamespaces: readonly Refusal[] = [
  ...refuses(TwinNamespace, [
    [
      "a name that is not its origin's",
      { metadata: { name: "other" } },
      "spec.originNamespace",
      "must be the same as metadata.name, so that a namespace has one twin",
    ],
    ["a wanted name that is none", { spec: { wantedName: "-shop" } }, "spec.wantedName", notAName],
    ["a wanted name that is too long", { spec: { wantedName: "a".repeat(64) } }, "spec.wantedName", "63 bytes"],
  ]),
  ...refusesChanges(TwinNamespace, {}, [
    ["another wanted name", { spec: { wantedName: "x" } }, "spec.wantedName", twinStays],
    ["another origin", { spec: { originNamespace: "other" } }, "spec.originNamespace", twinStays],
  ]),
];

export const refusedShadowPods: readonly Refusal[] = [
  ...refuses(ShadowPod, [
    ["a contract that is no name", { spec: { contract: "C 7" } }, "spec.contract", notAName],
    ["no pod", { spec: { pod: null } }, "spec.pod", "Required value"],
    ["a pod without containers", pod({ containers: [] }), "spec.pod.spec.containers", "at least 1 items"],
    [
      "a node that the consumer chose",
      pod({ nodeName: "node-1" }),
      "spec.pod.spec.nodeName",
      "must be left out: the provider chooses the node",
    ],
    ...labels("spec.pod.metadata.labels"),
    [
      "an annotation key with a space",
      { spec: { pod: { metadata: { annotations: { "two words": "x" } } } } },
      "spec.pod.metadata.annotations",
      "every key must be an annotation key, such as note or example.com/note",
    ],
    [
      "an origin that is no uid",
      { spec: { originUid: "web 0" } },
      "spec.originUid",
      "must be the uid of an object, such as 4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10",
    ],
    ["an unknown wish", { spec: { recreate: "Sometimes" } }, "spec.recreate", 'supported values: "Always", "Never"'],
  ]),
  ...refusesChanges(ShadowPod, { metadata: { name: "web-7" } }, [
    ["another origin", { spec: { originUid: "5" } }, "spec.originUid", "another pod needs another ShadowPod"],
  ]),
];
