import type { Kind } from "@fjord/base";
import type { IEvent } from "kubernetes-models/events.k8s.io/v1/Event";
import type { Typed } from "./typed.ts";

const group = { group: "events.k8s.io", version: "v1" } as const;

export type Event = Typed<IEvent>;
export const Event: Kind<Event> = { ...group, kind: "Event", plural: "events", namespaced: true };
