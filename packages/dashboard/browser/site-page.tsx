import type { NodeView, SiteView } from "@fjord/agent/page-model";
import { Link } from "wouter";
import { LostAlert } from "./continuum-page.tsx";
import { AskButton } from "./dialog.tsx";
import { amountText, plural, resourceName, sinceText, sliceText } from "./format.ts";
import { useFocus, useNow, usePage } from "./hooks.ts";
import { Icon } from "./icons.tsx";
import { LinkTable } from "./link-table.tsx";
import { Conditions, Empty, HealthChip, Meter, Notices, newestFirst, Panel } from "./parts.tsx";
import { cutQuestion } from "./questions.tsx";
import { WorkloadTable } from "./workload-table.tsx";

export function SitePage({ name }: { name: string }) {
  const { snapshot } = usePage();
  useFocus(name, { site: name });
  const site = Object.hasOwn(snapshot.sites, name) ? snapshot.sites[name] : undefined;
  if (site === undefined)
    return (
      <>
        <h1>{name}</h1>
        <Empty>
          This site is not known here, or may not be shown to you. <Link href="/">To the continuum</Link>
        </Empty>
      </>
    );
  const links = Object.values(snapshot.links).filter((link) =>
    site.role === "self" ? true : link.consumer === name || link.provider === name,
  );
  const workloads = Object.entries(snapshot.workloads).filter(([, { places }]) =>
    places.some((place) => place.site === name),
  );
  const nodes = Object.values(snapshot.nodes).filter(
    (node) => node.site === name && node.virtual === (site.role === "peer"),
  );
  return (
    <>
      <p className="crumbs">
        <Link href="/">Continuum</Link> <span aria-hidden="true">/</span> {name}
      </p>
      <SiteHead site={site} demo={snapshot.viewer.demo} />
      {site.health === "lost" && <LostAlert lost={[site]} />}
      <div className="columns">
        <Capacity site={site} />
        <Panel title="Contracted">
          <Contracted site={site} self={snapshot.self} />
        </Panel>
      </div>
      <Panel title="Agreements">
        <LinkTable links={links} self={snapshot.self} />
      </Panel>
      {nodes.length > 0 && (
        <Panel title={site.role === "self" ? "Nodes" : "Virtual nodes"}>
          <Nodes nodes={nodes} />
        </Panel>
      )}
      <Panel title="Workloads here" aside={<span className="quiet">{plural(workloads.length, "workload")}</span>}>
        <WorkloadTable workloads={workloads} most={20} />
      </Panel>
      <div className="columns">
        <Panel title="Conditions">
          <Conditions conditions={site.conditions} />
        </Panel>
        <Panel title="Events">
          <Notices notices={newestFirst(snapshot.notices)} />
        </Panel>
      </div>
    </>
  );
}

function SiteHead({ site, demo }: { site: SiteView; demo: boolean }) {
  const now = useNow(5_000);
  const facts = [
    site.tier && `${site.tier} tier`,
    site.region,
    site.version && `Fjord ${site.version}`,
    site.kubernetesVersion && `Kubernetes ${site.kubernetesVersion}`,
    site.way === "tunnelled" && "reached through its own connection",
    site.health === "well" && site.since !== undefined && `for ${sinceText(site.since, now)}`,
  ].filter((fact) => typeof fact === "string" && fact !== "");
  return (
    <header className="object-head">
      <span className={`object-icon health-${site.health}`}>
        <Icon name={site.health === "lost" ? "lost" : (site.tier ?? "other")} size={28} />
      </span>
      <div className="object-words">
        <h1>
          {site.name} {site.role === "self" && <span className="tag">this site</span>}
        </h1>
        <p className="facts">
          <HealthChip health={site.health} />
          {facts.map((fact) => (
            <span key={String(fact)}>{fact}</span>
          ))}
        </p>
        {site.health !== "well" && site.message !== "" && <p className="note">{site.message}</p>}
      </div>
      {demo && site.role === "peer" && (
        <span className="buttons">
          {site.health === "lost" ? (
            <AskButton label="Connect again" question={cutQuestion(site, false)} />
          ) : (
            <AskButton label="Cut off" question={cutQuestion(site, true)} />
          )}
        </span>
      )}
    </header>
  );
}

const SHOWN = ["cpu", "memory", "pods"] as const;

function Capacity({ site }: { site: SiteView }) {
  const own = site.role === "self";
  const known = SHOWN.filter((name) => site.capacity[name] !== undefined);
  const aside = own ? `of ${plural(site.nodes, "own node")}, ${site.nodesReady} ready` : "as contracts promise it here";
  return (
    <Panel title="Capacity" aside={<span className="quiet">{aside}</span>}>
      {known.length === 0 && <Empty>No capacity is known{own ? "" : ": nothing is contracted here"}.</Empty>}
      <div className="meters">
        {known.map((name) => (
          <Meter key={name} resource={name} used={site.used[name] ?? 0} of={site.capacity[name] ?? 0} />
        ))}
      </div>
    </Panel>
  );
}

function Contracted({ site, self }: { site: SiteView; self: string }) {
  const own = site.role === "self";
  const rows = [
    { name: own ? "Given to others" : `Given to it by ${self}`, amounts: site.contractedOut },
    { name: own ? "Taken from others" : `Taken from it by ${self}`, amounts: site.contractedIn },
    { name: "Shared", amounts: site.shared },
    { name: "Of that free", amounts: site.free },
  ];
  return (
    <div className="table-frame">
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span className="unseen">What</span>
            </th>
            {SHOWN.map((name) => (
              <th key={name} scope="col" className="number">
                {resourceName(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, amounts }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {SHOWN.map((resource) => (
                <td key={resource} className="number">
                  {amountText(resource, amounts[resource])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Nodes({ nodes }: { nodes: readonly NodeView[] }) {
  return (
    <div className="table-frame">
      <table>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col" className="number">
              Pods
            </th>
            <th scope="col" className="number wide-only">
              Used
            </th>
            <th scope="col" className="number">
              Capacity
            </th>
          </tr>
        </thead>
        <tbody>
          {nodes.slice(0, 50).map((node) => (
            <tr key={node.name}>
              <th scope="row">{node.name}</th>
              <td>
                <HealthChip
                  health={node.ready ? (node.cordoned ? "waiting" : "well") : "faulty"}
                  words={node.ready ? (node.cordoned ? "Cordoned" : "Ready") : "Not ready"}
                />
              </td>
              <td className="number">{node.pods}</td>
              <td className="number wide-only">{sliceText(node.used) || "0"}</td>
              <td className="number">{sliceText(node.capacity)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {nodes.length > 50 && <p className="note">and {nodes.length - 50} more</p>}
    </div>
  );
}
