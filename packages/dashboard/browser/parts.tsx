import type { Amounts, ConditionView, Health, NoticeView, PlaceView } from "@fjord/agent/page-model";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { amountText, resourceName, share, sinceText } from "./format.ts";
import { useNow } from "./hooks.ts";
import { Icon } from "./icons.tsx";
import { sitePath } from "./paths.ts";

const HEALTH_WORDS: Readonly<Record<Health, string>> = {
  well: "Healthy",
  waiting: "Waiting",
  lost: "Unreachable",
  faulty: "Faulty",
};

export function HealthChip({ health, words }: { health: Health; words?: string }) {
  return (
    <span className={`chip health-${health}`}>
      {health === "lost" ? <Icon name="lost" size={14} /> : <span className="dot" />}
      {words ?? HEALTH_WORDS[health]}
    </span>
  );
}

const LINK_WORDS = {
  open: ["well", "Open"],
  cordoned: ["waiting", "Cordoned"],
  drained: ["waiting", "Drained"],
  waiting: ["waiting", "Waiting"],
  broken: ["lost", "Broken"],
  ended: ["faulty", "Ended"],
} as const;

export function LinkChip({ state }: { state: keyof typeof LINK_WORDS }) {
  const [health, words] = LINK_WORDS[state];
  return <HealthChip health={health} words={words} />;
}

export function Panel({
  title,
  aside,
  children,
  id,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  id?: string;
}) {
  const heading = `${(id ?? title).replaceAll(" ", "-").toLowerCase()}-heading`;
  return (
    <section className="panel" aria-labelledby={heading}>
      <header className="panel-head">
        <h2 id={heading}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="empty">{children}</p>;
}

/** Used of a whole, as a bar with its numbers. */
export function Meter({ resource, used, of, note }: { resource: string; used: number; of: number; note?: string }) {
  const part = share(used, of);
  const words = `${amountText(resource, used)} of ${amountText(resource, of)}`;
  return (
    <div className="meter">
      <div className="meter-words">
        <span>{resourceName(resource)}</span>
        <span className="numbers">{words}</span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a meter element cannot be styled the same in all browsers */}
      <div
        className="bar"
        role="meter"
        aria-label={`${resourceName(resource)} used`}
        aria-valuemin={0}
        aria-valuemax={of}
        aria-valuenow={used}
        aria-valuetext={words}
      >
        <div className={part > 0.9 ? "fill full" : "fill"} style={{ width: `${part * 100}%` }} />
      </div>
      {note !== undefined && <p className="note">{note}</p>}
    </div>
  );
}

export function Amount({ amounts, name }: { amounts: Amounts; name: string }) {
  return <span className="numbers">{amountText(name, amounts[name])}</span>;
}

const PATH_WORDS = { native: "native", shadow: "shadow", guest: "guest", pending: "pending" } as const;

/** Where pods of a workload are: the site, the way they came, how many. */
export function Place({ place, lost }: { place: PlaceView; lost: boolean }) {
  const words = `${place.pods} ${PATH_WORDS[place.path]} at ${place.site || "no site yet"}`;
  const inside = (
    <>
      <Icon name={lost ? "lost" : place.path} size={14} />
      <span className="place-name">{place.site || "pending"}</span>
      <span className="place-count">{place.pods}</span>
      {place.path !== "pending" && <span className="place-path">{PATH_WORDS[place.path]}</span>}
    </>
  );
  const className = `place path-${place.path}${lost ? " is-lost" : ""}`;
  if (place.site === "") return <span className={className}>{inside}</span>;
  return (
    <Link href={sitePath(place.site)} className={className} aria-label={`${words}${lost ? ", unreachable" : ""}`}>
      {inside}
    </Link>
  );
}

export function Conditions({ conditions }: { conditions: readonly ConditionView[] }) {
  const now = useNow(10_000);
  if (conditions.length === 0) return <Empty>Nothing is known yet.</Empty>;
  return (
    <ul className="conditions">
      {conditions.map(({ type, status, reason, message, since }) => (
        <li key={type}>
          <span className={`state state-${status}`}>
            {status === "True" ? "Yes" : status === "False" ? "No" : "Unknown"}
          </span>
          <div>
            <strong>{type}</strong> <span className="quiet">{reason}</span>
            {message !== "" && <p className="note">{message}</p>}
          </div>
          <time dateTime={since} className="quiet numbers">
            {sinceText(since, now)}
          </time>
        </li>
      ))}
    </ul>
  );
}

/** What happened, newest first. */
export function Notices({ notices, most = 12 }: { notices: readonly NoticeView[]; most?: number }) {
  const now = useNow(5_000);
  if (notices.length === 0) return <Empty>Nothing has happened lately.</Empty>;
  return (
    <ol className="notices">
      {notices.slice(0, most).map((notice) => (
        <li
          key={`${notice.about} ${notice.reason} ${notice.at} ${notice.message}`}
          className={notice.warning ? "is-warning" : ""}
        >
          <time dateTime={notice.at} className="numbers">
            {sinceText(notice.at, now)}
          </time>
          <div>
            <strong>{notice.reason}</strong> <span className="quiet">{notice.about}</span>
            {notice.count > 1 && <span className="quiet"> ×{notice.count}</span>}
            <p className="note">{notice.message}</p>
          </div>
        </li>
      ))}
    </ol>
  );
}

export function newestFirst(notices: Readonly<Record<string, NoticeView>>): NoticeView[] {
  return Object.values(notices).sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
}
