export { GuestBudgets, type GuestBudgetsOptions } from "./guest-budgets.ts";
export type { SeenWrite } from "./guest-hints.ts";
export { CONTRACT_ANNOTATION } from "./guest-pod.ts";
export { GuestPods, type GuestPodsOptions } from "./guest-pods.ts";
