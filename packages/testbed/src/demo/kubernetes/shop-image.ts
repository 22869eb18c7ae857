import type { ImageRequest } from "../../nodes/images.ts";
import { fileEntry, linkedProgram } from "../../nodes/linked-program.ts";
import { SHOP_IMAGE, SHOP_PROGRAMS, SHOP_SOURCES } from "../application.ts";

/**
 * The shop's image: this Node and the shop's sources, at the paths that they have on this machine, so that one and the same
 * manifest starts a container here and a process there.
 */
export function shopImage(): ImageRequest {
  const sources = SHOP_PROGRAMS.map((name) => fileEntry(`${SHOP_SOURCES}${name}.mjs`));
  return { name: SHOP_IMAGE, files: [...linkedProgram(process.execPath), ...sources] };
}
