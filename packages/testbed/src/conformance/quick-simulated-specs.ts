/** A few specs of the suite `microkube` that touch most of what a control plane does, for every run of the tests. */
export const quickSimulatedSpecs: readonly string[] = [
  "[sig-api-machinery] API priority and fairness should support FlowSchema API operations [Conformance]",
  "[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface for CRDs [Conformance]",
  "[sig-api-machinery] FieldValidation should detect unknown and duplicate fields of a typed object [Conformance]",
  "[sig-api-machinery] Garbage collector should not be blocked by dependency circle [Conformance]",
  "[sig-api-machinery] ResourceQuota should create a ResourceQuota and ensure its status is promptly calculated. [Conformance]",
  "[sig-api-machinery] ValidatingAdmissionPolicy [Privileged:ClusterAdmin] should support ValidatingAdmissionPolicy API operations [Conformance]",
  "[sig-api-machinery] Watchers should be able to start watching from a specific resource version [Conformance]",
  "[sig-auth] SubjectReview should support SubjectReview API operations [Conformance]",
];
