/** The version of every program of this repository. */
export const FJORD_VERSION = "0.1.0";
