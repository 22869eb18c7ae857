/** Counts refusals by their reason; a `Counter` with the label `reason` fits. */
export interface RefusalCounter {
  inc(labels: { reason: string }): void;
}

/** Names for the registry of whoever makes the counters. */
export const PAIRING_REFUSED_TOTAL = "fjord_pairing_refused_total";
export const CERTIFICATE_REFUSED_TOTAL = "fjord_certificate_refused_total";
