/* Pods of all sorts: for tests that ask two servers the same. */

const good = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};
export const pod = (spec: object = {}, securityContext: object = {}, container: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "i", securityContext, ...container }], ...spec },
});
const two = (securityContext: object) => ({
  containers: ["a", "b"].map((name) => ({ name, image: "i", securityContext })),
});

/** Pods of all sorts, for all levels. */
export const variants = [
  pod(),
  pod({}, good),
  pod({}, { ...good, privileged: true, allowPrivilegeEscalation: true }),
  pod({ hostNetwork: true, hostPID: true, hostIPC: true }, good),
  pod(
    {
      volumes: [
        { name: "h", hostPath: { path: "/" } },
        { name: "n", nfs: { server: "s", path: "/" } },
      ],
    },
    good,
  ),
  pod({ volumes: [{ name: "e", emptyDir: {} }] }, good),
  pod({}, good, {
    ports: [
      { containerPort: 80, hostPort: 8080 },
      { containerPort: 81, hostPort: 81 },
    ],
  }),
  pod({}, { ...good, capabilities: { add: ["SYS_ADMIN", "NET_RAW", "CHOWN"], drop: ["ALL"] } }),
  pod({}, { ...good, capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] } }),
  pod(two({ capabilities: { add: ["SYS_TIME"] } })),
  pod({}, { ...good, procMount: "Unmasked" }),
  pod({ hostUsers: false }, { ...good, procMount: "Unmasked", runAsUser: 0, runAsNonRoot: false }),
  pod({}, { ...good, seLinuxOptions: { type: "spc_t", user: "u", role: "r" } }),
  pod({ securityContext: { seLinuxOptions: { type: "container_engine_t" } } }, good),
  pod({}, { ...good, seccompProfile: { type: "Unconfined" } }),
  pod(
    { securityContext: { seccompProfile: { type: "Unconfined" }, runAsNonRoot: true } },
    { ...good, seccompProfile: undefined },
  ),
  pod(
    {
      securityContext: {
        sysctls: [
          { name: "kernel.msgmax", value: "1" },
          { name: "net.ipv4.tcp_rmem", value: "1" },
        ],
      },
    },
    good,
  ),
  pod({ securityContext: { runAsUser: 0, runAsNonRoot: false } }, good),
  pod({}, { ...good, runAsUser: 0 }),
  pod({ securityContext: { windowsOptions: { hostProcess: true } }, hostNetwork: true, os: { name: "windows" } }),
  pod({}, { ...good, appArmorProfile: { type: "Unconfined" } }),
  pod({}, good, { livenessProbe: { httpGet: { host: "10.0.0.1", port: 80 } } }),
  pod({ securityContext: { appArmorProfile: { type: "Unconfined" } }, ...two({ privileged: true }) }),
  pod({ initContainers: [{ name: "i", image: "i" }] }, good),
  pod({ priorityClassName: "nothing" }),
  pod({ runtimeClassName: "nothing" }),
  pod({ serviceAccountName: "nothing" }),
];
