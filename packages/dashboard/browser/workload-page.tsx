import type { PodView, WorkloadView } from "@fjord/agent/page-model";
import { useState } from "react";
import { Link } from "wouter";
import { AskButton } from "./dialog.tsx";
import { plural, sinceText } from "./format.ts";
import { useFocus, useNow, usePage } from "./hooks.ts";
import { Icon } from "./icons.tsx";
import { Empty, HealthChip, Notices, newestFirst, Panel, Place } from "./parts.tsx";
import { sitePath } from "./paths.ts";
import { PodConsole } from "./pod-console.tsx";
import { moveQuestion } from "./questions.tsx";

const MOVABLE = ["Deployment", "StatefulSet", "DaemonSet"];

export function WorkloadPage({ id }: { id: string }) {
  const { snapshot } = usePage();
  const [, , name = ""] = id.split("/");
  useFocus(name, { workload: id });
  const [chosen, setChosen] = useState<string>();
  const workload = snapshot.workloads[id];
  const pods = Object.values(snapshot.pods).filter((pod) => pod.workload === id);
  const pod = pods.find((each) => each.name === chosen) ?? pods[0];
  if (workload === undefined)
    return (
      <>
        <h1>{name}</h1>
        <Empty>
          This workload is gone, or may not be shown to you. <Link href="/workloads">To all workloads</Link>
        </Empty>
      </>
    );
  return (
    <>
      <p className="crumbs">
        <Link href="/workloads">Workloads</Link> <span aria-hidden="true">/</span> {workload.namespace}
      </p>
      <WorkloadHead workload={workload} />
      <div className="columns">
        <Panel title="Placement">
          <Placement workload={workload} />
        </Panel>
        <Panel title="Events">
          <Notices notices={newestFirst(snapshot.notices)} most={6} />
        </Panel>
      </div>
      <Panel title="Pods" aside={<span className="quiet">{plural(workload.pods, "pod")}</span>}>
        <Pods pods={pods} chosen={pod?.name} onChoose={setChosen} />
      </Panel>
      {pod !== undefined && (
        <PodConsole key={`${pod.namespace}/${pod.name}`} pod={pod} pods={pods} onChoose={setChosen} />
      )}
    </>
  );
}

function WorkloadHead({ workload }: { workload: WorkloadView }) {
  const { snapshot } = usePage();
  const now = useNow(10_000);
  const offloaded = {
    Both: "may run anywhere",
    Remote: "runs at other sites only",
    Local: "pods stay at home",
  } as const;
  const facts = [
    `${workload.kind} in ${workload.namespace}`,
    workload.offloaded === undefined ? "not offloaded" : `offloaded, ${offloaded[workload.offloaded]}`,
    workload.guestOf !== undefined && `guest of ${workload.guestOf}`,
    workload.restarts > 0 && plural(workload.restarts, "restart"),
    workload.since !== undefined && `${sinceText(workload.since, now)} old`,
    workload.image,
  ].filter((fact) => typeof fact === "string");
  return (
    <header className="object-head">
      <span className={`object-icon health-${workload.health}`}>
        <Icon name={workload.places[0]?.path ?? "pending"} size={28} />
      </span>
      <div className="object-words">
        <h1>{workload.name}</h1>
        <p className="facts">
          <HealthChip health={workload.health} words={`${workload.ready} of ${workload.desired} ready`} />
          {facts.map((fact) => (
            <span key={fact}>{fact}</span>
          ))}
        </p>
        {workload.problem !== "" && <p className="note problem">{workload.problem}</p>}
      </div>
      {MOVABLE.includes(workload.kind) && snapshot.self !== "" && (
        <AskButton
          label="Move"
          icon={<Icon name="shadow" size={16} />}
          question={moveQuestion(workload, Object.values(snapshot.sites), snapshot.self)}
        />
      )}
    </header>
  );
}

function Placement({ workload }: { workload: WorkloadView }) {
  const { snapshot } = usePage();
  const total = workload.pods || 1;
  if (workload.places.length === 0) return <Empty>It has no pods.</Empty>;
  return (
    <>
      <div className="split" aria-hidden="true">
        {workload.places.map((place) => (
          <span
            key={`${place.site} ${place.path}`}
            className={`path-${place.path}${snapshot.sites[place.site]?.health === "lost" ? " is-lost" : ""}`}
            style={{ flexGrow: place.pods / total }}
          />
        ))}
      </div>
      <ul className="placements">
        {workload.places.map((place) => (
          <li key={`${place.site} ${place.path}`}>
            <Place place={place} lost={snapshot.sites[place.site]?.health === "lost"} />
            <span className="quiet">
              {place.ready} of {place.pods} ready
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

interface PodsProps {
  readonly pods: readonly PodView[];
  readonly chosen: string | undefined;
  readonly onChoose: (name: string) => void;
}

function Pods({ pods, chosen, onChoose }: PodsProps) {
  const now = useNow(10_000);
  if (pods.length === 0) return <Empty>There are no pods now.</Empty>;
  return (
    <ul className="pods">
      {pods.map((pod) => (
        <li key={`${pod.namespace}/${pod.name}`} className={pod.name === chosen ? "is-chosen" : ""}>
          <div className="pod-line">
            <button
              type="button"
              className="pod-name"
              aria-pressed={pod.name === chosen}
              onClick={() => onChoose(pod.name)}
            >
              {pod.name}
            </button>
            <HealthChip health={pod.ready ? "well" : pod.phase === "Failed" ? "faulty" : "waiting"} words={pod.phase} />
            {pod.site !== "" && (
              <Link href={sitePath(pod.site)} className={`place path-${pod.path}`}>
                <Icon name={pod.path} size={14} />
                <span className="place-name">{pod.site}</span>
                <span className="place-path">{pod.path}</span>
              </Link>
            )}
            <span className="quiet numbers pod-more">
              {pod.ip} {pod.restarts > 0 && `${plural(pod.restarts, "restart")} `}
              {sinceText(pod.since, now)}
            </span>
          </div>
          <p className="note">{pod.placement}</p>
        </li>
      ))}
    </ul>
  );
}
