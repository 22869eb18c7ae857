import { defineError } from "@fjord/base";

export const InvalidQuantity = defineError(
  "INVALID_QUANTITY",
  "{text} is not a quantity",
  "Write a number with at most one suffix, as in 250m, 1.5, 64Mi or 2G.",
);

export const InvalidJsonPath = defineError(
  "INVALID_JSONPATH",
  "jsonpath={text} cannot be read: {reason}",
  "Write it as kubectl has it, as in {.items[*].metadata.name}.",
);
