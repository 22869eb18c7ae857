/** The capabilities that container runtimes give by default. */
export const defaultCapabilities: readonly string[] = [
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
];

/** The kernel's settings that Kubernetes counts as safe: nobody outside of the pod notices them. */
export const safeSysctls: readonly string[] = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ping_group_range",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.tcp_wmem",
];
