import { conditions } from "../conditions.ts";
import { conditionColumn, defineKind, type ObjectOf } from "../kind.ts";
import {
  annotations,
  array,
  enumeration,
  integer,
  labelName,
  labels,
  object,
  objectName,
  opaque,
  string,
  uid,
} from "../schema/index.ts";

const pod = object(
  {
    metadata: object({
      labels: labels({ maxProperties: 256 }).optional().describe("Labels of the pod."),
      annotations: annotations({ maxProperties: 256 }).optional().describe("Annotations of the pod."),
    })
      .optional()
      .describe("What the pod carries beside its name."),
    spec: object(
      {
        containers: array(opaque("container"), { minItems: 1, maxItems: 128 }).describe("The pod's containers."),
        nodeName: string({ maxLength: 253 }).optional().describe("Must be left out."),
      },
      { open: true },
    )
      .rule("!has(self.nodeName)", "must be left out: the provider chooses the node", ".nodeName")
      .describe("A PodSpec. Only what is named here is checked before the pod is made."),
  },
  // Forged as a whole by one writer: an API server that noted who set which field of it would carry that in each event.
  { atomic: true },
);

export const ShadowPod = defineKind({
  kind: "ShadowPod",
  plural: "shadowpods",
  shortNames: ["spo"],
  namespaced: true,
  purpose:
    "The provider's durable promise to run one pod for a consumer. It outlives the provider's nodes and the consumer's absence.",
  writers: {
    spec: "the consumer's agent, through the provider's API proxy, in a twin namespace",
    status: "the provider's agent",
  },
  columns: [
    {
      name: "Phase",
      path: ".status.phase",
      description: "How far the pod is; of one that is well, up to a minute late.",
    },
    conditionColumn("Admitted", "Whether the contract has room for it."),
    {
      name: "Reason",
      path: '.status.conditions[?(@.type=="Admitted")].reason',
      description: "Why it was admitted or refused.",
    },
    {
      name: "Recreated",
      path: ".status.recreations",
      type: "integer",
      description: "How often a lost pod was replaced.",
    },
    { name: "Contract", path: ".spec.contract", wide: true, description: "The contract that it counts against." },
    { name: "Pod", path: ".status.podName", wide: true, description: "The pod that runs." },
  ],
  spec: object({
    contract: labelName().describe(
      "Name of the Contract that it counts against, or of one that this contract supersedes: a renewal changes no ShadowPod.",
    ),
    originUid: uid()
      .immutable("another pod needs another ShadowPod")
      .describe("Uid of the consumer's pod, so that a pod that is made again under its name is told from the first."),
    pod: pod.describe("The pod to run, as the consumer's agent forged it."),
    recreate: enumeration({
      Always: "a pod that is lost with its node or evicted is made again.",
      Never: "a pod that is lost stays lost and is reported as failed, as Jobs expect.",
    })
      .default("Always")
      .describe("What to do when the provider loses the pod. One that has finished is never made again."),
  }).describe("What the consumer wants run."),
  status: object({
    phase: enumeration({
      Pending: "it waits for room, for a node or for its containers.",
      Running: "it runs.",
      Succeeded: "it has finished well.",
      Failed: "it has finished badly, or was lost.",
    })
      .optional()
      .describe("How far the pod is; kept when the pod itself is gone."),
    podName: objectName().optional().describe("Name of the pod in the same namespace."),
    podUid: uid().optional().describe("Uid of that pod."),
    recreations: integer({ minimum: 0 })
      .optional()
      .describe("How often a lost pod was made again. The consumer sees them as restarts."),
    conditions: conditions({
      Admitted: {
        meaning: "The contract has room, and the pod was made.",
        reasons: {
          WithinContract: "It was.",
          AmountExceeded: "The contract's amounts are used up; the message says by what.",
          ContractMissing: "There is no Contract of that name with this consumer.",
          ContractNotActive: "The contract has not begun, or is over.",
          Cordoned: "The contract is cordoned or drained.",
          RequestsMissing: "The contract asks for requests, and a container states none.",
          LimitsDiffer: "The contract asks for limits equal to requests, and a container's differ.",
          PodRefused: "The provider's API refused the pod; the message says why.",
        },
      },
      Scheduled: {
        meaning: "The pod has a node.",
        reasons: {
          NodeChosen: "It has.",
          NotAdmitted: "There is no pod yet.",
          Unschedulable: "No node takes it; the message is the scheduler's.",
        },
      },
      Running: {
        meaning: "The pod's containers run.",
        reasons: {
          Started: "They do.",
          NotStarted: "They have not started yet.",
          Finished: "They have finished.",
          Recreating: "The pod was lost and is being made again.",
          Lost: "The pod was lost and is not to be made again.",
        },
      },
    }),
  })
    .optional()
    .describe("What the provider's agent answers."),
  example: {
    metadata: { name: "web-0", namespace: "default" },
    spec: {
      contract: "c-7f3kq2",
      originUid: "4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10",
      pod: { spec: { containers: [{ name: "web", image: "registry.example/web:1" }] } },
    },
  },
});
export type ShadowPod = ObjectOf<typeof ShadowPod>;
