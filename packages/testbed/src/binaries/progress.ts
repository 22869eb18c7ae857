import type { Source } from "./find.ts";

/** What happens while binaries are got, for whoever shows it. */
export type BinariesEvent =
  | {
      readonly type: "building";
      readonly title: string;
      readonly components: readonly string[];
      readonly minutes: number;
    }
  | {
      readonly type: "still-building";
      readonly title: string;
      readonly seconds: number;
      readonly packages: number;
      readonly modules: number;
    }
  | { readonly type: "downloading"; readonly url: string }
  | {
      readonly type: "still-downloading";
      readonly url: string;
      readonly received: number;
      readonly total: number | undefined;
    }
  | { readonly type: "waiting"; readonly title: string; readonly pid: number; readonly seconds: number }
  | { readonly type: "failed"; readonly title: string; readonly source: Source; readonly reason: string }
  | { readonly type: "ready"; readonly title: string; readonly components: readonly string[]; readonly seconds: number }
  | { readonly type: "installing"; readonly packages: readonly string[] }
  | { readonly type: "output"; readonly line: string };

export type Progress = (event: BinariesEvent) => void;

/** An event in one line of English. */
export function describeProgress(event: BinariesEvent): string {
  switch (event.type) {
    case "building":
      return `building ${event.components.join(", ")} (${event.title}) from the Go module registry (about ${plural(event.minutes, "minute")} on 2 cores)`;
    case "still-building": {
      const counts = [
        event.modules > 0 ? `, ${plural(event.modules, "module")} downloaded` : "",
        event.packages > 0 ? `, ${plural(event.packages, "package")} compiled` : "",
      ];
      return `building ${event.title}: ${duration(event.seconds)}${counts.join("")}`;
    }
    case "downloading":
      return `downloading ${event.url}`;
    case "still-downloading":
      return `downloading ${event.url}: ${megabytes(event.received)}${event.total === undefined ? "" : ` of ${megabytes(event.total)}`}`;
    case "waiting":
      return `waiting for process ${event.pid}, which is getting ${event.title} (${duration(event.seconds)})`;
    case "failed":
      return `${event.title} not from the ${event.source}: ${event.reason}`;
    case "ready":
      return `${event.components.join(", ")} (${event.title}) ready after ${duration(event.seconds)}`;
    case "installing":
      return `installing ${event.packages.join(", ")} with apt-get`;
    case "output":
      return event.line;
  }
}

export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
