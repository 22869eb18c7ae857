import { defineError } from "@fjord/base";

export const InvalidSetting = defineError(
  "SIMULATED_SETTING_INVALID",
  "{setting}: {value} is not {expected}",
  "docs/simulated.md lists what simulated pods can be told, and how values are written.",
);

export const UnknownSetting = defineError(
  "SIMULATED_SETTING_UNKNOWN",
  "{setting} is nothing that a simulated pod can be told{hint}",
  "docs/simulated.md lists what simulated pods can be told. A setting for one container has its name after a dot.",
);

export const InvalidRules = defineError(
  "SIMULATED_RULES_INVALID",
  "cannot use the rules in {file}: {problem}",
  "docs/simulated.md shows a file of rules; correct this one and start again.",
);

export const InvalidRange = defineError(
  "SIMULATED_RANGE_INVALID",
  "{text} is no range of IPv4 addresses: {problem}",
  "Write a range as 10.64.0.0/10.",
);

export const RangeExhausted = defineError(
  "SIMULATED_RANGE_EXHAUSTED",
  "all addresses of {range} are in use",
  "Give simulated pods a larger range of addresses.",
);

export const SimulatedFailure = defineError(
  "SIMULATED_FAILURE",
  "{message}",
  "The pod, or a rule of the simulation, asks for this failure: look for `-error` among its annotations and the rules.",
);

export const NothingSimulated = defineError(
  "SIMULATED_NOT_THERE",
  "there is no simulated {what} {id}",
  "It has been removed, or the simulation has begun anew since.",
);
