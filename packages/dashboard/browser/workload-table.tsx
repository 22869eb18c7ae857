import type { WorkloadView } from "@fjord/agent/page-model";
import { useState } from "react";
import { Link } from "wouter";
import { usePage } from "./hooks.ts";
import { Empty, HealthChip, Place } from "./parts.tsx";
import { workloadPath } from "./paths.ts";

const WORST = { lost: 0, faulty: 1, waiting: 2, well: 3 } as const;

/** Workloads with where their pods are; those that need looking at come first. */
export function WorkloadTable({
  workloads,
  most = 100,
}: {
  workloads: readonly (readonly [string, WorkloadView])[];
  most?: number;
}) {
  const { snapshot } = usePage();
  const [shown, setShown] = useState(most);
  if (workloads.length === 0) return <Empty>There is no workload here.</Empty>;
  const sorted = [...workloads].sort(
    ([a, first], [b, second]) => WORST[first.health] - WORST[second.health] || a.localeCompare(b),
  );
  return (
    <>
      <ul className="workloads">
        {sorted.slice(0, shown).map(([key, workload]) => (
          <li key={key}>
            <div className="workload-name">
              <Link href={workloadPath(workload)}>{workload.name}</Link>
              <span className="quiet">
                {workload.kind} · {workload.namespace}
                {workload.guestOf !== undefined && ` · of ${workload.guestOf}`}
              </span>
            </div>
            <HealthChip health={workload.health} words={`${workload.ready} of ${workload.desired} ready`} />
            <div className="places">
              {workload.places.map((place) => (
                <Place
                  key={`${place.site} ${place.path}`}
                  place={place}
                  lost={snapshot.sites[place.site]?.health === "lost"}
                />
              ))}
              {workload.places.length === 0 && <span className="quiet">no pods</span>}
            </div>
            {workload.problem !== "" && <p className="note problem">{workload.problem}</p>}
          </li>
        ))}
      </ul>
      {shown < sorted.length && (
        <button type="button" className="button more" onClick={() => setShown(shown + 200)}>
          Show more ({sorted.length - shown})
        </button>
      )}
    </>
  );
}
