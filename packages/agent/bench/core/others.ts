import type { OtherFigures } from "@fjord/testbed/bench";

const NOTE =
  "Beside others, which were measured in the same ways on two cores in 2026, without a network between pods, each against a plain cluster of its own run (Liqo after 1.2 with its webhooks; Karmada before 1.19, pushing and pulling, with its requests unlimited where a second figure is given)";

const of = (figures: Readonly<Record<string, string>>): OtherFigures => ({ note: NOTE, figures });

/** What others took for the same work, where it is known. */
export const others = {
  scheduled: of({ Liqo: "4 ms", Karmada: "70 and 72 ms" }),
  ready: of({ Liqo: "65 ms" }),
  once: {
    ready: of({ Liqo: "2.33", Karmada: "7.0 and 4.7; 4.1 and 3.9" }),
    gone: of({ Liqo: "2.0", Karmada: "9.1 and 6.8; 3.7 and 3.9" }),
    cpu: of({ Liqo: "2.3", Karmada: "5.3 and 5.0" }),
  },
  thousand: {
    ready: of({ Liqo: "6.1" }),
    gone: of({ Liqo: "4.4" }),
    cpu: of({ Liqo: "6.3" }),
    requests: of({ Liqo: "36 requests and 5 webhook calls" }),
  },
  peering: of({ Liqo: "5.5 s the first time, then 2.3 to 3.3 s" }),
  memory: of({
    Liqo: "four processes of 223 MB without pods; one of them 139 MB with 1,000 pods and one peer",
    Karmada: "agent 62 MiB, control plane 748 MiB, without pods",
  }),
} as const;

/** By what a burst measures. */
export interface OthersInBurst {
  readonly ready?: OtherFigures;
  readonly gone?: OtherFigures;
  readonly cpu?: OtherFigures;
  readonly requests?: OtherFigures;
}
