import { type FieldError, invalidField } from "../../field-error.ts";

export type Level = "privileged" | "baseline" | "restricted";

export interface LevelVersion {
  readonly level: Level;
  /** Of Kubernetes 1.x, whose standard it is; undefined: the latest. */
  readonly minor: number | undefined;
}

export interface PodSecurityPolicy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

const levels: readonly Level[] = ["privileged", "baseline", "restricted"];
const LABEL = "pod-security.kubernetes.io/";

/** What a namespace's labels ask for, and what is wrong with them. Without labels, everything is allowed. */
export function podSecurityPolicy(labels: Readonly<Record<string, string>> = {}): {
  policy: PodSecurityPolicy;
  errors: FieldError[];
} {
  const errors: FieldError[] = [];
  const wrong = (label: string, value: string, told: string) =>
    errors.push(invalidField(`metadata.labels[${label}]`, value, told));
  const read = (mode: string, orElse: Level): LevelVersion & { isGiven: boolean; hasVersion: boolean } => {
    const text = labels[LABEL + mode];
    const isGood = text !== undefined && levels.includes(text as Level);
    if (text !== undefined && !isGood) wrong(LABEL + mode, text, `must be one of ${levels.join(", ")}`);
    const version = labels[`${LABEL}${mode}-version`];
    const [, digits] = /^v1\.(0|[1-9][0-9]*)$/.exec(version ?? "") ?? [];
    if (version !== undefined && version !== "latest" && digits === undefined) {
      wrong(`${LABEL}${mode}-version`, version, 'must be "latest" or "v1.x"');
    }
    const level = isGood ? (text as Level) : text === undefined ? "privileged" : orElse;
    const minor = digits === undefined ? undefined : Number(digits);
    return { level, minor, isGiven: text !== undefined, hasVersion: version !== undefined };
  };
  // What cannot be read refuses the most where it is enforced, and says nothing elsewhere.
  const enforce = read("enforce", "restricted");
  const audit = read("audit", "privileged");
  const warn = read("warn", "privileged");
  const isReadable = levels.includes(labels[`${LABEL}enforce`] as Level);
  const follows = !warn.isGiven && isReadable && levels.indexOf(enforce.level) > levels.indexOf(warn.level);
  const told = follows ? { level: enforce.level, minor: warn.hasVersion ? warn.minor : enforce.minor } : bare(warn);
  return { policy: { enforce: bare(enforce), audit: bare(audit), warn: told }, errors };
}

const bare = ({ level, minor }: LevelVersion): LevelVersion => ({ level, minor });

/** `restricted:latest`, `baseline:v1.30`. */
export const levelText = ({ level, minor }: LevelVersion) =>
  `${level}:${minor === undefined ? "latest" : `v1.${minor}`}`;

export const isStricter = (a: Level, b: Level) => levels.indexOf(a) > levels.indexOf(b);
