/** What an owner may let guests do that they may not otherwise. */
export const GUEST_PRIVILEGES = [
  "privileged",
  "hostNetwork",
  "hostPID",
  "hostIPC",
  "hostPath",
  "hostPort",
  "capabilities",
  "procMount",
  "sysctls",
  "seLinux",
  "priority",
  "tolerations",
  "nodeName",
  "resourceClaims",
] as const;

export type GuestPrivilege = (typeof GUEST_PRIVILEGES)[number];
