/* Roles of all sorts, and questions about them: for tests that ask two servers the same. */

export const rbac = "/apis/rbac.authorization.k8s.io/v1";
export const meta = (name: string, namespace?: string) => ({ metadata: { name, ...(namespace && { namespace }) } });
export const subject = (kind: string, name: string, namespace?: string) =>
  namespace === undefined ? { apiGroup: "rbac.authorization.k8s.io", kind, name } : { kind, name, namespace };
export const roleRef = (kind: string, name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name });
export const rule = (verbs: string[], apiGroups: string[], resources: string[], resourceNames?: string[]) => ({
  verbs,
  apiGroups,
  resources,
  ...(resourceNames && { resourceNames }),
});

/** What both servers get before they are asked. */
export const setup: [path: string, object: object][] = [
  ["/api/v1/namespaces", meta("shop")],
  ["/api/v1/namespaces", meta("farm")],
  ...["privileged", "baseline", "restricted"].map((level): [string, object] => [
    "/api/v1/namespaces",
    { metadata: { name: level, labels: { "pod-security.kubernetes.io/enforce": level } } },
  ]),
  [
    "/api/v1/namespaces",
    {
      metadata: {
        name: "warned",
        labels: { "pod-security.kubernetes.io/warn": "restricted", "pod-security.kubernetes.io/warn-version": "v1.24" },
      },
    },
  ],
  ...["shop", "privileged", "baseline", "restricted", "warned"].map((namespace): [string, object] => [
    `/api/v1/namespaces/${namespace}/serviceaccounts`,
    meta("default"),
  ]),
  [
    `${rbac}/namespaces/shop/roles`,
    {
      ...meta("reader"),
      rules: [rule(["get", "list"], [""], ["pods", "pods/log"]), rule(["get"], [""], ["secrets"], ["a"])],
    },
  ],
  [
    `${rbac}/clusterroles`,
    {
      ...meta("scaler"),
      rules: [
        rule(["*"], ["apps"], ["*/scale"]),
        { verbs: ["get"], nonResourceURLs: ["/metrics", "/logs/*"] },
        rule(["escalate"], ["rbac.authorization.k8s.io"], ["roles"], ["open"]),
      ],
    },
  ],
  [
    `${rbac}/clusterroles`,
    { ...meta("granter"), rules: [rule(["create", "update"], ["rbac.authorization.k8s.io"], ["*"])] },
  ],
  [
    `${rbac}/clusterroles`,
    { ...meta("binder"), rules: [rule(["bind"], ["rbac.authorization.k8s.io"], ["clusterroles"], ["view"])] },
  ],
  [
    `${rbac}/namespaces/shop/rolebindings`,
    {
      ...meta("r"),
      roleRef: roleRef("Role", "reader"),
      subjects: [subject("User", "jane"), subject("ServiceAccount", "web", "farm")],
    },
  ],
  [
    `${rbac}/namespaces/farm/rolebindings`,
    { ...meta("s"), roleRef: roleRef("ClusterRole", "scaler"), subjects: [subject("Group", "ops")] },
  ],
  [
    `${rbac}/namespaces/farm/rolebindings`,
    { ...meta("gone"), roleRef: roleRef("Role", "nothing"), subjects: [subject("User", "jim")] },
  ],
  [
    `${rbac}/clusterrolebindings`,
    { ...meta("c"), roleRef: roleRef("ClusterRole", "scaler"), subjects: [subject("User", "joan")] },
  ],
  [
    `${rbac}/clusterrolebindings`,
    {
      ...meta("g"),
      roleRef: roleRef("ClusterRole", "granter"),
      subjects: [subject("User", "jane"), subject("User", "jack")],
    },
  ],
  [
    `${rbac}/clusterrolebindings`,
    { ...meta("b"), roleRef: roleRef("ClusterRole", "binder"), subjects: [subject("User", "jack")] },
  ],
];

/** What is known to a server that has taken in the last role and binding of each kind. */
export const lastLearned: [spec: object, isKnown: (status: { allowed: boolean; reason?: string }) => boolean][] = [
  [
    { user: "jane", resourceAttributes: { namespace: "shop", verb: "get", resource: "pods" } },
    ({ allowed }) => allowed,
  ],
  [
    { user: "jim", resourceAttributes: { namespace: "farm", verb: "get", resource: "pods" } },
    ({ reason }) => reason?.includes('"nothing" not found') ?? false,
  ],
  [
    {
      user: "jack",
      resourceAttributes: { verb: "bind", group: "rbac.authorization.k8s.io", resource: "clusterroles", name: "view" },
    },
    ({ allowed }) => allowed,
  ],
];

const callers = [
  { user: "jane", groups: ["system:authenticated"] },
  { user: "jim", groups: ["ops", "system:authenticated"] },
  { user: "joan", groups: ["system:authenticated"] },
  { user: "system:serviceaccount:farm:web", groups: ["system:serviceaccounts", "system:serviceaccounts:farm"] },
  { user: "system:node:n1", groups: ["system:nodes", "system:authenticated"] },
  { user: "system:anonymous", groups: ["system:unauthenticated"] },
  { user: "system:kube-scheduler", groups: ["system:authenticated"] },
  { user: "root", groups: ["system:masters"] },
];
const resources = [
  { verb: "get", resource: "pods" },
  { verb: "list", resource: "pods", subresource: "log" },
  { verb: "get", resource: "secrets", name: "a" },
  { verb: "get", resource: "secrets", name: "b" },
  { verb: "patch", group: "apps", resource: "deployments", subresource: "scale" },
  { verb: "create", group: "authorization.k8s.io", resource: "selfsubjectaccessreviews" },
  { verb: "create", resource: "nodes" },
  { verb: "list", resource: "pods", fieldSelector: { rawSelector: "spec.nodeName=n1" } },
  { verb: "get", resource: "nodes", name: "n2" },
];
const paths = ["/healthz", "/version", "/metrics", "/logs/x", "/apis/apps", "/nothing"];
export const questions = callers.flatMap((caller) => [
  ...resources.flatMap((one) =>
    ["", "shop", "farm"].map((namespace) => ({
      ...caller,
      resourceAttributes: { ...one, ...(namespace && { namespace }) },
    })),
  ),
  ...paths.map((path) => ({ ...caller, nonResourceAttributes: { verb: "get", path } })),
]);
