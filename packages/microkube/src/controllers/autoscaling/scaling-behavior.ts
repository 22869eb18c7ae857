import type { HorizontalPodAutoscaler } from "@fjord/kube";

type Behavior = NonNullable<NonNullable<HorizontalPodAutoscaler["spec"]>["behavior"]>;
type Rules = NonNullable<Behavior["scaleUp"]>;

/** A number of replicas at a time. */
export interface Moment {
  readonly at: number;
  readonly replicas: number;
}

const defaultUp: Rules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Percent", value: 100, periodSeconds: 15 },
    { type: "Pods", value: 4, periodSeconds: 15 },
  ],
};
const defaultDown: Rules = {
  stabilizationWindowSeconds: 300,
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
};

export interface Situation {
  readonly current: number;
  readonly wanted: number;
  readonly least: number;
  readonly most: number;
  /** What was recommended lately, this time included, and how the count has changed lately. */
  readonly recommended: readonly Moment[];
  readonly changes: readonly Moment[];
  readonly now: number;
}

export interface Decision {
  readonly replicas: number;
  readonly able: { readonly reason: string; readonly message: string };
  readonly limited: { readonly status: "True" | "False"; readonly reason: string; readonly message: string };
}

/** How far the count may go now: not back and forth, not too fast, and within its bounds. */
export function decide(behavior: Behavior | undefined, situation: Situation): Decision {
  const up = { ...defaultUp, ...defined(behavior?.scaleUp) };
  const down = { ...defaultDown, ...defined(behavior?.scaleDown) };
  const { replicas: stable, able } = stabilized(up, down, situation);
  const { current, least, most } = situation;
  const fastest = stable > current ? highest(up, situation) : stable < current ? lowest(down, situation) : current;
  const byPolicy = stable > current ? Math.min(stable, fastest) : stable < current ? Math.max(stable, fastest) : stable;
  const replicas = Math.min(most, Math.max(least, byPolicy));
  return { replicas, able, limited: limitation(situation, stable, byPolicy, replicas) };
}

function stabilized(up: Rules, down: Rules, { current, wanted, recommended, now }: Situation) {
  const within = (seconds = 0) =>
    recommended.filter(({ at }) => at > now - seconds * 1000).map(({ replicas }) => replicas);
  const lowestUp = Math.min(wanted, ...within(up.stabilizationWindowSeconds));
  const highestDown = Math.max(wanted, ...within(down.stabilizationWindowSeconds));
  let replicas = current;
  if (replicas < lowestUp) replicas = lowestUp;
  if (replicas > highestDown) replicas = highestDown;
  const able =
    replicas === wanted
      ? { reason: "ReadyForNewScale", message: "recommended size matches current size" }
      : wanted < replicas
        ? {
            reason: "ScaleDownStabilized",
            message: "recent recommendations were higher than current one, applying the highest recent recommendation",
          }
        : {
            reason: "ScaleUpStabilized",
            message: "recent recommendations were lower than current one, applying the lowest recent recommendation",
          };
  return { replicas, able };
}

/** What has been added within a period counts against what may be. */
function highest({ policies = [], selectPolicy }: Rules, { current, changes, now }: Situation): number {
  if (selectPolicy === "Disabled") return current;
  const bounds = policies.map(({ type, value, periodSeconds }) => {
    const start = current - changed(changes, periodSeconds, now, 1);
    return type === "Pods" ? start + value : Math.ceil(start * (1 + value / 100));
  });
  return Math.max(current, selectPolicy === "Min" ? Math.min(...bounds) : Math.max(...bounds));
}

function lowest({ policies = [], selectPolicy }: Rules, { current, changes, now }: Situation): number {
  if (selectPolicy === "Disabled") return current;
  const bounds = policies.map(({ type, value, periodSeconds }) => {
    const start = current + changed(changes, periodSeconds, now, -1);
    return type === "Pods" ? start - value : Math.floor(start * (1 - value / 100));
  });
  return Math.max(0, Math.min(current, selectPolicy === "Min" ? Math.max(...bounds) : Math.min(...bounds)));
}

function changed(changes: readonly Moment[], seconds: number, now: number, sign: 1 | -1): number {
  return changes
    .filter(({ at, replicas }) => at > now - seconds * 1000 && Math.sign(replicas) === sign)
    .reduce((total, { replicas }) => total + Math.abs(replicas), 0);
}

function limitation(
  { least, most, current }: Situation,
  stable: number,
  byPolicy: number,
  replicas: number,
): Decision["limited"] {
  if (replicas < byPolicy || stable > most) {
    return {
      status: "True",
      reason: "TooManyReplicas",
      message: "the desired replica count is more than the maximum replica count",
    };
  }
  if (replicas > byPolicy || stable < least) {
    return {
      status: "True",
      reason: "TooFewReplicas",
      message: "the desired replica count is less than the minimum replica count",
    };
  }
  if (byPolicy !== stable) {
    const isUp = stable > current;
    const message = `the desired replica count is ${isUp ? "increasing" : "decreasing"} faster than the maximum scale rate`;
    return { status: "True", reason: isUp ? "ScaleUpLimit" : "ScaleDownLimit", message };
  }
  return { status: "False", reason: "DesiredWithinRange", message: "the desired count is within the acceptable range" };
}

function defined<T extends object>(value: T | undefined): Partial<T> {
  return Object.fromEntries(
    Object.entries(value ?? {}).filter(([, field]) => field !== undefined && field !== null),
  ) as Partial<T>;
}
