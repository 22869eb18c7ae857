import { Contract } from "../../kinds/index.ts";
import { type Refusal, refuses, refusesChanges } from "./refusal.ts";
import { amounts, aSiteId, labels, notAName, notASiteId } from "./shared.ts";

const terms = (change: object) => ({ spec: { terms: change } });
const termsStay = "cannot be changed: make a new contract whose supersedes names this one";
const endedStays = "cannot leave Ended: an ended contract stays ended, make a new one";

export const refusedContracts: readonly Refusal[] = [
  ...refuses(Contract, [
    ["no terms", { spec: { terms: null } }, "spec.terms", "Required value"],
    [
      "another name than its id",
      terms({ id: "c-other" }),
      "spec.terms.id",
      "must be the same as metadata.name, which names the contract on both sides",
    ],
    ["an id with a dot", { metadata: { name: "c.7" }, spec: { terms: { id: "c.7" } } }, "spec.terms.id", notAName],
    ["a consumer that is no id", terms({ consumer: "lively-wave" }), "spec.terms.consumer", notASiteId],
    ["no provider", terms({ provider: null }), "spec.terms.provider", "Required value"],
    [
      "one site on both sides",
      terms({ consumer: aSiteId, provider: aSiteId }),
      "spec.terms.provider",
      "must be another site than the consumer",
    ],
    ...amounts("spec.terms.resources"),
    ...labels("spec.terms.properties"),
    [
      "an end before the beginning",
      terms({ notAfter: "2029-12-31T23:59:59Z" }),
      "spec.terms.notAfter",
      "must be later than notBefore",
    ],
    [
      "no life at all",
      terms({ notAfter: "2030-01-01T01:00:00+01:00" }),
      "spec.terms.notAfter",
      "must be later than notBefore",
    ],
    [
      "a time without a zone",
      terms({ notAfter: "2030-01-02 00:00" }),
      "spec.terms.notAfter",
      "must be of type date-time",
    ],
    [
      "a time with a comma",
      terms({ notAfter: "2030-01-02T00:00:00,5Z" }),
      "spec.terms.notAfter",
      "should match '^[0-9]{4}-[0-9]{2}-[0-9]{2}T",
    ],
    ["no enforcement", terms({ enforcement: null }), "spec.terms.enforcement", "Required value"],
    ["itself superseded", terms({ supersedes: "c-7f3kq2" }), "spec.terms.supersedes", "must be another contract"],
    ["an unknown standing", { spec: { standing: "Paused" } }, "spec.standing", "Unsupported value"],
  ]),
  ...refusesChanges(Contract, { metadata: { name: "c-set" }, spec: { terms: { id: "c-set" } } }, [
    ["other amounts", terms({ resources: { cpu: 8 } }), "spec.terms", termsStay],
    ["a longer life", terms({ notAfter: "2031-01-01T00:00:00Z" }), "spec.terms", termsStay],
  ]),
  ...refusesChanges(Contract, { metadata: { name: "c-end" }, spec: { terms: { id: "c-end" }, standing: "Ended" } }, [
    ["open again", { spec: { standing: "Open" } }, "spec.standing", endedStays],
    ["open again by default", { spec: { standing: null } }, "spec.standing", endedStays],
  ]),
];
