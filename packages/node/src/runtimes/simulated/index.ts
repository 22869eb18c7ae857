export { AddressRange } from "./address-range.ts";
export * from "./errors.ts";
export { beginningOf, type Fate, fateOf, sandboxDelay, stopOf } from "./fate.ts";
export type { NodeRule, Spell } from "./node-rule.ts";
export { matchesAny, noRules, type PodRule, parseRules, type Rules, settingObjections, settingsOf } from "./rules.ts";
export { PREFIX, type SettingName, Settings, settingNames } from "./settings.ts";
export { logText } from "./simulated-log.ts";
export { SimulatedRuntime, type SimulatedRuntimeOptions } from "./simulated-runtime.ts";
export { usageAt } from "./usage.ts";
