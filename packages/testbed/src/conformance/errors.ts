import { defineError } from "@fjord/base";

export const SuiteBroken = defineError(
  "TESTBED_SUITE_BROKEN",
  "the end-to-end suite ended without a report; the last lines of {log}:\n{tail}",
  "The log lines say why. A wrong --focus, or a site that ended meanwhile, are the usual reasons.",
);

export const SuiteEmpty = defineError(
  "TESTBED_SUITE_EMPTY",
  "no spec of the end-to-end suite matches {focus}",
  "`e2e.test --list-tests` prints the names; --focus takes a regular expression in the syntax of Go.",
);

export const PatternInvalid = defineError(
  "TESTBED_PATTERN_INVALID",
  "{pattern} is no regular expression: {reason}",
  "--focus and --skip take regular expressions in the syntax of Go; brackets that are meant as such need a backslash.",
);
