import type { Kind } from "@fjord/base";
import type { ICronJob } from "kubernetes-models/batch/v1/CronJob";
import type { IJob } from "kubernetes-models/batch/v1/Job";
import type { Typed } from "./typed.ts";

const group = { group: "batch", version: "v1" } as const;

export type Job = Typed<IJob>;
export const Job: Kind<Job> = { ...group, kind: "Job", plural: "jobs", namespaced: true };

export type CronJob = Typed<ICronJob>;
export const CronJob: Kind<CronJob> = { ...group, kind: "CronJob", plural: "cronjobs", namespaced: true };
