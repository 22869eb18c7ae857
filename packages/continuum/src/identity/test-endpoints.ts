import fc from "fast-check";

const signs = [..."a1Z.:/?#@[]\\ \t\n\r\u0000\u0001\u007f%-_~!$&'()*+,;=<>\"^`{|}é\u00a0\u2028日"];

/** What may stand after `https://`, most of it where it should not. */
export const oddEndings = fc.oneof(
  fc.string({ unit: fc.constantFrom(...signs), maxLength: 20 }),
  fc.string({ unit: fc.constantFrom(...signs), maxLength: 8 }).map((rest) => `a${rest}`),
  fc.string({ unit: fc.constantFrom(...signs), maxLength: 8 }).map((rest) => `a:7443/${rest}`),
);
