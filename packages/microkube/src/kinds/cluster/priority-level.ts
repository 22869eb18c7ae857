import type { IPriorityLevelConfiguration } from "kubernetes-models/flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { dnsSubdomain } from "../values/name.ts";
import { validateConditions } from "./flow-schema.ts";

type Spec = NonNullable<DraftObject<IPriorityLevelConfiguration>["spec"]>;
type Limited = NonNullable<Spec["limited"]>;
type Exempt = NonNullable<Spec["exempt"]>;
type Queuing = NonNullable<NonNullable<Limited["limitResponse"]>["queuing"]>;

const mostQueues = 10_000_000;
const mostBits = 60;

/** How much of the server a kind of requests may take. microkube keeps them as any object, and shares nothing out. */
export const priorityLevelConfiguration = defineResource<IPriorityLevelConfiguration>({
  group: "flowcontrol.apiserver.k8s.io",
  kind: "PriorityLevelConfiguration",
  nameRule: dnsSubdomain,
  hasStatus: true,
  generation: "spec",
  default({ spec }) {
    const { exempt, limited } = spec ?? {};
    if (exempt) {
      exempt.nominalConcurrencyShares ??= 0;
      exempt.lendablePercent ??= 0;
    }
    if (!limited) return;
    limited.nominalConcurrencyShares ??= 30;
    limited.lendablePercent ??= 0;
    const queuing = limited.limitResponse?.queuing;
    if (!queuing) return;
    queuing.handSize ||= 8;
    queuing.queues ||= 64;
    queuing.queueLengthLimit ||= 50;
  },
  validate: ({ metadata, spec = {} }) => validateSpec(metadata.name ?? "", spec),
  validateStatus: ({ status }) => validateConditions(status?.conditions),
  columns: columnsOf<IPriorityLevelConfiguration>(
    text("Type", ({ spec }) => spec?.type ?? ""),
    text("NominalConcurrencyShares", ({ spec }) => spec?.limited?.nominalConcurrencyShares ?? "<none>"),
    text("Queues", ({ spec }) => spec?.limited?.limitResponse?.queuing?.queues ?? "<none>"),
    text("HandSize", ({ spec }) => spec?.limited?.limitResponse?.queuing?.handSize ?? "<none>"),
    text("QueueLengthLimit", ({ spec }) => spec?.limited?.limitResponse?.queuing?.queueLengthLimit ?? "<none>"),
  ),
});

function validateSpec(name: string, { type = "", limited, exempt }: Spec): FieldError[] {
  const errors: FieldError[] = [];
  if ((name === "exempt") !== (type === "Exempt")) {
    errors.push(invalidField("spec.type", type, "must be 'Exempt' if and only if `name` is 'exempt'"));
  }
  if (type === "Exempt") {
    if (limited) errors.push(forbiddenField("spec.limited", "must be nil if the type is not Limited"));
    return exempt ? [...errors, ...validateShares(exempt, "spec.exempt")] : errors;
  }
  if (type === "Limited") {
    if (exempt) errors.push(forbiddenField("spec.exempt", "must be nil if the type is Limited"));
    if (!limited) return [...errors, required("spec.limited", "must not be empty when type is Limited")];
    return [...errors, ...validateLimited(limited, "spec.limited")];
  }
  return [...errors, type === "" ? required("spec.type") : notSupported("spec.type", type, ["Exempt", "Limited"])];
}

function validateShares({ nominalConcurrencyShares: shares = 0, lendablePercent: lent = 0 }: Exempt, path: string) {
  const errors: FieldError[] = [];
  if (shares < 0) {
    errors.push(invalidField(`${path}.nominalConcurrencyShares`, shares, "must be a non-negative integer"));
  }
  if (lent < 0 || lent > 100) {
    errors.push(invalidField(`${path}.lendablePercent`, lent, "must be between 0 and 100, inclusive"));
  }
  return errors;
}

function validateLimited(limited: Limited, path: string): FieldError[] {
  const errors = validateShares(limited, path);
  const { borrowingLimitPercent: borrowed = 0, limitResponse: { type = "", queuing } = {} } = limited;
  if (borrowed < 0) {
    const why = "if specified, must be a non-negative integer";
    errors.push(invalidField(`${path}.borrowingLimitPercent`, borrowed, why));
  }
  const at = `${path}.limitResponse`;
  if (type === "Reject") {
    const why = "must be nil if limited.limitResponse.type is not Limited";
    return queuing ? [...errors, forbiddenField(`${at}.queuing`, why)] : errors;
  }
  if (type === "Queue") {
    const why = "must not be empty if limited.limitResponse.type is Limited";
    return [...errors, ...(queuing ? validateQueuing(queuing, `${at}.queuing`) : [required(`${at}.queuing`, why)])];
  }
  return [...errors, type === "" ? required(`${at}.type`) : notSupported(`${at}.type`, type, ["Queue", "Reject"])];
}

function validateQueuing({ queueLengthLimit = 0, queues = 0, handSize = 0 }: Queuing, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (queueLengthLimit <= 0)
    errors.push(invalidField(`${path}.queueLengthLimit`, queueLengthLimit, "must be positive"));
  if (queues <= 0) errors.push(invalidField(`${path}.queues`, queues, "must be positive"));
  if (queues > mostQueues) {
    errors.push(invalidField(`${path}.queues`, queues, `must not be greater than ${mostQueues}`));
  }
  const why = handError(queues, handSize);
  return why === undefined ? errors : [...errors, invalidField(`${path}.handSize`, handSize, why)];
}

function handError(queues: number, handSize: number): string | undefined {
  if (handSize <= 0) return "must be positive";
  if (handSize > queues) return `should not be greater than queues (${queues})`;
  if (Math.ceil(Math.log2(queues) * handSize) <= mostBits) return undefined;
  return `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${mostBits}`;
}
