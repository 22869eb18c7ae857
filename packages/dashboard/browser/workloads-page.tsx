import { useDeferredValue, useState } from "react";
import { useFocus, usePage } from "./hooks.ts";
import { Panel } from "./parts.tsx";
import { WorkloadTable } from "./workload-table.tsx";

export function WorkloadsPage() {
  const { snapshot } = usePage();
  useFocus("Workloads", {});
  const [text, setText] = useState("");
  const [site, setSite] = useState("");
  const [path, setPath] = useState("");
  const [system, setSystem] = useState(false);
  const wanted = useDeferredValue(text.trim().toLowerCase());
  const all = Object.entries(snapshot.workloads);
  const found = all.filter(([key, workload]) => {
    if (!system && SYSTEM.test(workload.namespace)) return false;
    if (wanted !== "" && !key.toLowerCase().includes(wanted)) return false;
    if (site === "" && path === "") return true;
    return workload.places.some(
      (place) => (site === "" || place.site === site) && (path === "" || place.path === path),
    );
  });
  return (
    <>
      <h1>Workloads</h1>
      <search className="filters">
        <label>
          Name or namespace
          <input type="search" value={text} onChange={(event) => setText(event.target.value)} placeholder="shop/web" />
        </label>
        <label>
          Site
          <select value={site} onChange={(event) => setSite(event.target.value)}>
            <option value="">all</option>
            {Object.keys(snapshot.sites).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Path
          <select value={path} onChange={(event) => setPath(event.target.value)}>
            <option value="">all</option>
            <option value="native">native: on own nodes</option>
            <option value="shadow">shadow: at another site</option>
            <option value="guest">guest: here for another</option>
            <option value="pending">pending</option>
          </select>
        </label>
        <label className="check">
          <input type="checkbox" checked={system} onChange={(event) => setSystem(event.target.checked)} /> System
          namespaces
        </label>
      </search>
      <Panel
        title="All workloads"
        aside={
          <span className="quiet" role="status">
            {found.length} of {all.length}
          </span>
        }
      >
        <WorkloadTable workloads={found} />
      </Panel>
    </>
  );
}

const SYSTEM = /^(kube-.*|fjord-system|fjord-tenant-.*)$/;
