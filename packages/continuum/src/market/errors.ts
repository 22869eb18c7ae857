import { defineError } from "@fjord/base";

export const TermsRefused = defineError(
  "CONTRACT_TERMS_REFUSED",
  "cannot accept the terms that {provider} answered by: {problem}",
  "The provider's agent is faulty, of another version or hostile: compare versions and clocks, and tell its owner.",
);
