import { InvalidSetting, UnknownSetting } from "./errors.ts";
import { amount, duration, exitCode, probability, type ValueKind, words } from "./values.ts";

/** What every annotation to simulated pods begins with. */
export const PREFIX = "simulated.fjord.dev/";

/** What a pod's sandbox and its containers are told, by the names that annotations and rules have for it. */
const kinds = {
  "sandbox-delay": duration,
  "sandbox-error": words,
  "pull-delay": duration,
  "pull-error": words,
  "pull-error-probability": probability,
  "start-delay": duration,
  "start-error": words,
  "start-error-probability": probability,
  "ready-delay": duration,
  "exit-after": duration,
  "exit-probability": probability,
  "exit-code": exitCode,
  "exit-reason": words,
  "exit-message": words,
  "stop-delay": duration,
  "stop-exit-code": exitCode,
  cpu: amount,
  memory: amount,
  "usage-period": duration,
  log: words,
  "exec-exit-code": exitCode,
} as const satisfies Record<string, ValueKind<unknown>>;

export type SettingName = keyof typeof kinds;
type Value<N extends SettingName> = NonNullable<ReturnType<(typeof kinds)[N]["read"]>>;

export const settingNames = Object.keys(kinds) as SettingName[];

/** Settings as they were written, by name or by `name.container`. */
export type SettingTexts = Readonly<Record<string, string>>;

/** What one pod was told: several layers of texts, of which the last one that says something counts. */
export class Settings {
  static readonly none: Settings = new Settings([]);
  readonly #layers: readonly SettingTexts[];

  constructor(layers: readonly SettingTexts[]) {
    this.#layers = layers;
  }

  /** Of the pod, or of one of its containers; a text for that container goes before one for all. */
  get<N extends SettingName>(name: N, container?: string): Value<N> | undefined {
    return this.#find(name, container, true);
  }

  /** Of a container to which only what names it is said. */
  getOwn<N extends SettingName>(name: N, container: string): Value<N> | undefined {
    return this.#find(name, container, false);
  }

  #find<N extends SettingName>(name: N, container: string | undefined, isGeneral: boolean): Value<N> | undefined {
    for (let i = this.#layers.length - 1; i >= 0; i--) {
      const layer = this.#layers[i] ?? {};
      const own = container === undefined ? undefined : layer[`${name}.${container}`];
      const text = own ?? (isGeneral ? layer[name] : undefined);
      if (text !== undefined) return readSetting(name, text);
    }
    return undefined;
  }
}

/** What of the annotations is meant for the simulation, by names without the prefix; undefined where nothing is. */
export function settingsIn(annotations: Readonly<Record<string, string>> | undefined): SettingTexts | undefined {
  let texts: Record<string, string> | undefined;
  for (const name in annotations) {
    if (!name.startsWith(PREFIX)) continue;
    texts ??= {};
    texts[name.slice(PREFIX.length)] = annotations[name] ?? "";
  }
  return texts;
}

/** Throws for the first setting that is not known, or whose value cannot be read. */
export function checkSettings(texts: SettingTexts): void {
  for (const [key, text] of Object.entries(texts)) {
    const name = key.split(".")[0] ?? "";
    if (!Object.hasOwn(kinds, name)) throw new UnknownSetting({ setting: key, hint: hintFor(name) });
    readSetting(name as SettingName, text);
  }
}

function readSetting<N extends SettingName>(name: N, text: string): Value<N> {
  const kind = kinds[name];
  const value = kind.read(text);
  if (value === undefined) {
    throw new InvalidSetting({ setting: name, value: JSON.stringify(text), expected: kind.expected });
  }
  return value as Value<N>;
}

function hintFor(name: string): string {
  const close = settingNames.filter((known) => known.includes(name) || name.includes(known));
  return name !== "" && close.length > 0 ? ` (${close.join(", ")}?)` : "";
}
