import type { Snapshot } from "@fjord/agent/page-model";
import { createContext, type RefObject, useContext, useEffect, useRef, useState } from "react";

export interface PageContext {
  readonly snapshot: Snapshot;
  readonly look: (focus: { site?: string; workload?: string }) => void;
  /** Shows a sentence for a moment, and says it to those who do not see it. */
  readonly say: (sentence: string, isError?: boolean) => void;
}

export const Page = createContext<PageContext | undefined>(undefined);

export function usePage(): PageContext {
  const page = useContext(Page);
  if (page === undefined) throw new Error("there is no page around this");
  return page;
}

/** The time, again and again. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Tells the agent what is looked at for as long as this is shown, and names the page after it. */
export function useFocus(title: string, focus: { site?: string; workload?: string }): void {
  const { look } = usePage();
  const { site, workload } = focus;
  useEffect(() => {
    look({ ...(site && { site }), ...(workload && { workload }) });
  }, [look, site, workload]);
  useEffect(() => {
    document.title = `${title} – Fjord`;
  }, [title]);
}

export function useWidth<E extends HTMLElement>(): [RefObject<E | null>, number] {
  const element = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
