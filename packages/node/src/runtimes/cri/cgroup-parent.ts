export type CgroupDriver = "cgroupfs" | "systemd";

/** How a runtime wants a pod's control group to be named: as the path that it is, or as a slice of systemd. */
export function cgroupParentName(path: string, driver: CgroupDriver): string {
  if (driver === "cgroupfs") return path;
  return `${sliceNames(path).at(-1) ?? "-"}.slice`;
}

/** Where the group is below the mount points. A slice lies in all the slices that its name begins with. */
export function cgroupDirectory(path: string, driver: CgroupDriver): string {
  if (driver === "cgroupfs") return path;
  return `/${sliceNames(path)
    .map((name) => `${name}.slice`)
    .join("/")}`;
}

/** `/a/b-c` gives `a` and `a-b_c`: in the name of a slice, hyphens are what slashes are in a path. */
function sliceNames(path: string): string[] {
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map((part) => part.replaceAll("-", "_"));
  return parts.map((_, i) => parts.slice(0, i + 1).join("-"));
}
