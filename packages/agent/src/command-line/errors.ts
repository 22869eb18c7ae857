import { defineError } from "@fjord/base";

export const InvalidAgentOption = defineError(
  "AGENT_INVALID_OPTION",
  "{option} cannot be {value}: {reason}",
  "`fjord-agent run --help` says what the option takes.",
);
