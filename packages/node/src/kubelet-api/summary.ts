/** The answer of `/stats/summary`, as metrics-server and `kubectl top` read it. Times are RFC 3339. */
export interface Summary {
  node: NodeSummary;
  pods: PodSummary[];
}

export interface NodeSummary {
  nodeName: string;
  startTime: string;
  cpu?: CpuSummary;
  memory?: MemorySummary;
  network?: NetworkSummary;
  fs?: FileSystemSummary;
  runtime?: { imageFs?: FileSystemSummary; containerFs?: FileSystemSummary };
  rlimit?: { time: string; maxpid?: number; curproc?: number };
}

export interface PodSummary {
  podRef: { name: string; namespace: string; uid: string };
  startTime: string;
  containers: ContainerSummary[];
  cpu?: CpuSummary;
  memory?: MemorySummary;
  network?: NetworkSummary;
  volume?: (FileSystemSummary & { name: string; pvcRef?: { name: string; namespace: string } })[];
  "ephemeral-storage"?: FileSystemSummary;
  process_stats?: { process_count: number };
}

export interface ContainerSummary {
  name: string;
  startTime: string;
  cpu?: CpuSummary;
  memory?: MemorySummary;
  rootfs?: FileSystemSummary;
  logs?: FileSystemSummary;
}

export interface CpuSummary {
  time: string;
  usageNanoCores?: number;
  usageCoreNanoSeconds?: number;
}

export interface MemorySummary {
  time: string;
  availableBytes?: number;
  usageBytes?: number;
  workingSetBytes?: number;
  rssBytes?: number;
  pageFaults?: number;
  majorPageFaults?: number;
}

export interface NetworkSummary {
  time: string;
  name?: string;
  rxBytes?: number;
  rxErrors?: number;
  txBytes?: number;
  txErrors?: number;
  interfaces?: { name: string; rxBytes?: number; rxErrors?: number; txBytes?: number; txErrors?: number }[];
}

export interface FileSystemSummary {
  time: string;
  availableBytes?: number;
  capacityBytes?: number;
  usedBytes?: number;
  inodesFree?: number;
  inodes?: number;
  inodesUsed?: number;
}
