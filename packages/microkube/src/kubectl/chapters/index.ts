import type { Chapter } from "../chapter.ts";
import { applying } from "./applying.ts";
import { containers } from "./containers.ts";
import { deleting } from "./deleting.ts";
import { describing } from "./describing.ts";
import { making } from "./making.ts";
import { nodes } from "./nodes.ts";
import { reading } from "./reading.ts";
import { rights } from "./rights.ts";
import { workloads } from "./workloads.ts";

/** What users do most; each chapter has a namespace of its own, so that all may be gone through side by side. */
export const chapters: readonly Chapter[] = [workloads, reading, applying, rights];

/** The rest of it, likewise. */
export const moreChapters: readonly Chapter[] = [making, describing, deleting];

/** Those that change what others stand on, in this order: the last one needs nodes that run processes. */
export const lastChapters: readonly Chapter[] = [nodes, containers];
