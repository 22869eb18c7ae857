// `npm run demo`: what V8 makes of the sources is kept for the next time.
import { enableCompileCache } from "node:module";
import { COMPILED } from "./kept.ts";

enableCompileCache(COMPILED);
await import("./main.ts");
