import { fileURLToPath } from "node:url";

/** Made once, and used by every later run: the built page, the built command. */
export const KEPT = fileURLToPath(new URL("../../../../node_modules/.cache/fjord/", import.meta.url));
/** What V8 makes of the sources. */
export const COMPILED = `${KEPT}compiled`;
