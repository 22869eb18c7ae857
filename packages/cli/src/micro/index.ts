export { runMicroSite } from "./micro-site.ts";
export { resetMicroSite } from "./reset-site.ts";
