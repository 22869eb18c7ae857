/** What a container may use, in the machine's terms. Absent: not limited. */
export interface ContainerResources {
  /** Thousandths of a processor; gives the share under contention. */
  readonly cpuRequest?: number;
  /** Thousandths of a processor, never exceeded. */
  readonly cpuLimit?: number;
  /** Bytes. */
  readonly memoryRequest?: number;
  /** Bytes; the kernel kills what exceeds them. */
  readonly memoryLimit?: number;
  /** -1000 to 1000: the higher, the sooner the kernel kills it when memory is short. */
  readonly oomScoreAdjust?: number;
  /** Bytes by page size (`2Mi`). */
  readonly hugePages?: Readonly<Record<string, number>>;
}
