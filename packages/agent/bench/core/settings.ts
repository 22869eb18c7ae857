/** Of everything that is measured on three whole control planes. */
export const SETTINGS =
  "Real control planes, with nodes that kwok simulates; etcd without fsync, API servers without priority and fairness or limits of requests at once, controller managers and schedulers at 500 requests/s. All of it, the benchmark too, shares the machine's processors; over the border two control planes share them. The agents reach each other directly, over TLS on this machine. Sites: home is the one that people deploy to, away the one that runs the pods.";
