import type { IComponentStatus } from "kubernetes-models/v1/ComponentStatus";
import { nameColumn, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";

type Component = DraftObject<IComponentStatus>;
const names = ["controller-manager", "scheduler", "etcd-0"];

/** A kind of the past, still asked for by people: everything is in this process, which answers. */
export const componentStatus = defineResource<IComponentStatus>({
  group: "",
  kind: "ComponentStatus",
  compute: () =>
    names.map((name) => ({
      apiVersion: "v1",
      kind: "ComponentStatus",
      metadata: { name },
      conditions: [{ type: "Healthy", status: "True", message: "ok" }],
    })),
  columns: [
    nameColumn(),
    text("Status", (object) => {
      const status = healthOf(object)?.status;
      return status === undefined ? "Unknown" : status === "True" ? "Healthy" : "Unhealthy";
    }),
    text("Message", (object) => healthOf(object)?.message ?? ""),
    text("Error", (object) => healthOf(object)?.error ?? ""),
  ],
});

const healthOf = ({ conditions }: Component) => conditions?.find(({ type }) => type === "Healthy");
