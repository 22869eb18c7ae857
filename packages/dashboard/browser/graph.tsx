import type { LinkView, SiteView, Snapshot } from "@fjord/agent/page-model";
import { useMemo } from "react";
import { Link } from "wouter";
import { amountText, plural, share, sinceText } from "./format.ts";
import { type Box, type Curve, layoutGraph } from "./graph-layout.ts";
import { useNow, useWidth } from "./hooks.ts";
import { Icon } from "./icons.tsx";
import { sitePath } from "./paths.ts";

/** The continuum as this site sees it: sites by tier, and what flows between them. */
export function Graph({ snapshot }: { snapshot: Snapshot }) {
  const [element, width] = useWidth<HTMLDivElement>();
  const { sites, links, self } = snapshot;
  const layout = useMemo(
    () => (width === 0 ? undefined : layoutGraph({ sites: Object.values(sites), links, self }, width)),
    [sites, links, self, width],
  );
  return (
    <div ref={element} className="graph" style={{ height: layout?.height ?? 320 }}>
      {layout?.bands.map(({ tier, y, height }) => (
        <div key={tier} className={`band band-${tier}`} style={{ top: y, height }} aria-hidden="true">
          <span>{tier === "other" ? "no tier" : tier}</span>
        </div>
      ))}
      {layout !== undefined && (
        <svg className="links" width={layout.width} height={layout.height} aria-hidden="true">
          {[...layout.curves].reverse().map((curve) => (
            <LinkCurve key={curve.id} curve={curve} self={self} labelled={layout.mode === "bands"} />
          ))}
        </svg>
      )}
      <ul className="sites" aria-label="Sites">
        {[...(layout?.boxes ?? [])].map(([name, box]) => {
          const site = sites[name];
          return site && <SiteCard key={name} site={site} box={box} links={links} />;
        })}
      </ul>
    </div>
  );
}

function LinkCurve({ curve, self, labelled }: { curve: Curve; self: string; labelled: boolean }) {
  const { path, state, middle, link, words } = curve;
  const outward = link?.consumer === self;
  const broken = state === "broken";
  const wide = words.length * 6.2 + 26;
  return (
    <g className={`link link-${state}`}>
      <path d={path} className="link-line" />
      {state === "open" && <path d={path} className={outward ? "link-flow outward" : "link-flow inward"} />}
      {labelled && words !== "" && (
        <g transform={`translate(${middle.x} ${middle.y})`} className="link-label">
          <rect x={-wide / 2} y={-11} width={wide} height={22} rx={11} />
          <text textAnchor="middle" dy="4">
            {words}
          </text>
        </g>
      )}
      {!labelled && broken && (
        <g transform={`translate(${middle.x} ${middle.y})`} className="link-cross">
          <circle r="9" />
          <path d="M-3.5-3.5l7 7M3.5-3.5l-7 7" />
        </g>
      )}
    </g>
  );
}

const KEPT = ["cpu", "memory"] as const;

function SiteCard({ site, box, links }: { site: SiteView; box: Box; links: Readonly<Record<string, LinkView>> }) {
  const now = useNow(site.health === "lost" ? 1_000 : 15_000);
  const own = site.role === "self";
  const lost = site.health === "lost";
  const state = lost ? `unreachable for ${sinceText(site.since, now)}` : site.health;
  const node = Object.values(links).find(({ provider, node: name }) => provider === site.name && name !== undefined);
  const label = `${site.name}, ${site.tier ?? "a"} site${own ? ", this site" : ""}, ${state}, ${plural(site.pods, "pod")}`;
  return (
    <li style={{ left: box.x, top: box.y, width: box.width, height: box.height }}>
      <Link
        href={sitePath(site.name)}
        className={`card health-${site.health}${own ? " is-self" : ""}`}
        aria-label={label}
      >
        <span className="card-top">
          <span className="card-icon">
            <Icon name={lost ? "lost" : (site.tier ?? "other")} />
          </span>
          <span className="card-name">{site.name}</span>
          {own ? <span className="tag">this site</span> : <span className={`beacon health-${site.health}`} />}
        </span>
        {lost ? (
          <span className="card-lost">
            <strong>Unreachable</strong>
            <span className="numbers">{sinceText(site.since, now)}</span>
          </span>
        ) : (
          <span className="card-meters">
            {KEPT.map((name) => (
              <span key={name} className="mini">
                <span className="mini-name">{name === "cpu" ? "cpu" : "mem"}</span>
                <span className="bar">
                  <span className="fill" style={{ width: `${share(site.used[name], site.capacity[name]) * 100}%` }} />
                </span>
                <span className="numbers">{amountText(name, site.capacity[name])}</span>
              </span>
            ))}
          </span>
        )}
        <span className="card-foot">
          <span>{plural(site.pods, "pod")}</span>
          <span>{own ? plural(site.nodes, "node") : node === undefined ? "no node here" : `node ${node.node}`}</span>
        </span>
      </Link>
    </li>
  );
}
