/** Of this package, as its manifest says; written here because a bundle has no manifest beside it. */
export const FJORD_VERSION = "0.1.0";
