import type { CoreEvent } from "@fjord/kube";
import type { NoticeView } from "./snapshot.ts";

/** What happened, newest first, no more than a page shows. */
export function noticeViews(events: readonly CoreEvent[], limit: number): Record<string, NoticeView> {
  const views = events.map((event): [string, NoticeView] => {
    const { involvedObject: about, metadata } = event;
    const kind = about.kind ?? "";
    const name = about.name ?? "";
    const view: NoticeView = {
      about: about.namespace === undefined ? `${kind} ${name}` : `${kind} ${about.namespace}/${name}`,
      ...(about.namespace !== undefined && { namespace: about.namespace }),
      kind,
      name,
      warning: event.type === "Warning",
      reason: event.reason ?? "",
      message: event.message ?? "",
      count: event.series?.count ?? event.count ?? 1,
      at: timeOf(event),
    };
    return [`${metadata.namespace}/${metadata.name}`, view];
  });
  views.sort(([, a], [, b]) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return Object.fromEntries(views.slice(0, limit));
}

function timeOf({ series, lastTimestamp, eventTime, firstTimestamp, metadata }: CoreEvent): string {
  const at = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp ?? metadata.creationTimestamp;
  return at === undefined || at === null ? "" : String(at);
}
