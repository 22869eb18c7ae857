import type { SiteView, Snapshot } from "@fjord/agent/page-model";
import { Link } from "wouter";
import { AskButton } from "./dialog.tsx";
import { plural, sinceText } from "./format.ts";
import { Graph } from "./graph.tsx";
import { useFocus, useNow, usePage } from "./hooks.ts";
import { Icon } from "./icons.tsx";
import { LinkTable } from "./link-table.tsx";
import { Empty, Notices, newestFirst, Panel } from "./parts.tsx";
import { sitePath } from "./paths.ts";
import { peerQuestion } from "./questions.tsx";

export function ContinuumPage() {
  const { snapshot } = usePage();
  useFocus("Continuum", {});
  const sites = Object.values(snapshot.sites);
  const lost = sites.filter(({ health }) => health === "lost");
  return (
    <>
      <div className="title-row">
        <h1>Continuum</h1>
        <AskButton label="Peer by token" question={peerQuestion()} icon={<Icon name="plus" size={16} />} />
      </div>
      {lost.length > 0 && <LostAlert lost={lost} />}
      <Summary snapshot={snapshot} lost={lost.length} />
      <section className="panel graph-panel" aria-label="Graph of the continuum">
        {sites.length === 0 ? <Empty>No site can be shown to you here.</Empty> : <Graph snapshot={snapshot} />}
        <Legend />
      </section>
      <div className="columns">
        <Panel title="Agreements">
          <LinkTable links={Object.values(snapshot.links)} self={snapshot.self} />
        </Panel>
        <Panel title="Events">
          <Notices notices={newestFirst(snapshot.notices)} most={8} />
        </Panel>
      </div>
    </>
  );
}

export function LostAlert({ lost }: { lost: readonly SiteView[] }) {
  const now = useNow();
  return (
    <div className="alert" role="alert">
      <Icon name="lost" size={22} />
      <div>
        {lost.map((site) => (
          <p key={site.name}>
            <Link href={sitePath(site.name)}>{site.name}</Link> has not answered
            <span className="numbers" aria-hidden="true">
              {" "}
              for {sinceText(site.since, now)}
            </span>
          </p>
        ))}
      </div>
    </div>
  );
}

function Summary({ snapshot, lost }: { snapshot: Snapshot; lost: number }) {
  const workloads = Object.values(snapshot.workloads);
  const sites = Object.values(snapshot.sites);
  const unwell = workloads.filter(({ health }) => health !== "well").length;
  const away = workloads.flatMap(({ places }) => places).filter(({ path }) => path === "shadow");
  const shadows = away.reduce((sum, { pods }) => sum + pods, 0);
  const guests = workloads.filter(({ kind }) => kind === "Guest").reduce((sum, { pods }) => sum + pods, 0);
  const open = Object.values(snapshot.links).filter(({ state }) => state === "open").length;
  const figures = [
    { name: "Sites", value: sites.length, note: lost === 0 ? "all answer" : `${lost} unreachable`, bad: lost > 0 },
    { name: "Agreements", value: Object.keys(snapshot.links).length, note: `${open} open`, bad: false },
    {
      name: "Workloads",
      value: workloads.length,
      note: unwell === 0 ? "all healthy" : `${unwell} not healthy`,
      bad: unwell > 0,
    },
    { name: "Pods elsewhere", value: shadows, note: `${plural(guests, "guest")} here`, bad: false },
  ];
  return (
    <dl className="figures">
      {figures.map(({ name, value, note, bad }) => (
        <div key={name} className={bad ? "is-bad" : ""}>
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong>
            <span>{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Legend() {
  const entries = [
    ["open", "open"],
    ["cordoned", "cordoned"],
    ["waiting", "waiting"],
    ["broken", "broken"],
    ["known", "paired, nothing agreed"],
  ];
  return (
    <ul className="legend" aria-label="What the lines mean">
      {entries.map(([state, words]) => (
        <li key={state}>
          <svg width="28" height="8" className={`link link-${state}`} aria-hidden="true">
            <path d="M1 4H27" className="link-line" />
          </svg>
          {words}
        </li>
      ))}
    </ul>
  );
}
