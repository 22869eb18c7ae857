import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Pod } from "@fjord/kube";

/** Where containers of witness pods see the directory that outlives them. */
const MOUNT = "/witness";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];

export interface WitnessPlace {
  readonly image: string;
  /** Of the witness directory, as the node sees it. */
  readonly hostPath: string;
}

/**
 * The beginning of every witness: a token that no other start has, a line that says that it began, and `line`, which
 * notes that a line of the log comes before it writes it. All starts of a container note that in one file: where their
 * tokens are mixed, they ran at once.
 */
function begin(name: string): string {
  return [
    "read -r token </proc/sys/kernel/random/uuid",
    `here=${MOUNT}/$POD_UID; mkdir -p $here`,
    `echo $token >>$here/${name}.starts`,
    "i=0",
    `line() { i=$((i+1)); echo $token >>$here/${name}.lines; echo "$token $i"; }`,
  ].join("\n");
}

/** Runs until it is told to end. */
function server(name: string): string {
  const end = `echo $token >>$here/${name}.terms; line; sleep 0.3; line; echo $token >>$here/${name}.ends; exit 0`;
  return `${begin(name)}\ntrap '${end}' TERM\nwhile :; do line; sleep 0.2; done`;
}

/** Writes its lines, and ends. */
function task(name: string, lines: number, code = 0): string {
  return `${begin(name)}\nwhile [ $i -lt ${lines} ]; do line; sleep 0.1; done\necho $token >>$here/${name}.ends\nexit ${code}`;
}

/** Fails the first time and serves the second time. */
function stumbler(name: string): string {
  const fail = `if [ $(wc -l <$here/${name}.starts) -lt 2 ]; then line; line; line; exit 3; fi`;
  return `${begin(name)}\n${fail}\ntrap 'exit 0' TERM\nwhile :; do line; sleep 0.2; done`;
}

function container(place: WitnessPlace, name: string, script: string, more: Partial<Container> = {}): Container {
  return {
    name,
    image: place.image,
    imagePullPolicy: "Never",
    command: ["sh", "-c", script],
    env: [{ name: "POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } }],
    volumeMounts: [{ name: "witness", mountPath: MOUNT }],
    ...more,
  };
}

function spec(place: WitnessPlace, more: Partial<PodSpec> & Pick<PodSpec, "containers">): PodSpec {
  return {
    terminationGracePeriodSeconds: 10,
    volumes: [{ name: "witness", hostPath: { path: place.hostPath, type: "DirectoryOrCreate" } }],
    ...more,
  };
}

/** Init container, sidecar, two main containers of which one has hooks and probes and the other fails once. */
export function wholeSpec(place: WitnessPlace): PodSpec {
  const preStop = { exec: { command: ["sh", "-c", `echo x >>${MOUNT}/$POD_UID/a.prestops; sleep 0.3`] } };
  const probe = { exec: { command: ["sh", "-c", `test -s ${MOUNT}/$POD_UID/a.starts`] }, periodSeconds: 1 };
  return spec(place, {
    initContainers: [
      container(place, "init", task("init", 3)),
      container(place, "side", server("side"), { restartPolicy: "Always" }),
    ],
    containers: [
      container(place, "a", server("a"), { lifecycle: { preStop }, readinessProbe: { ...probe, timeoutSeconds: 10 } }),
      container(place, "b", stumbler("b")),
    ],
  });
}

export const taskLines = 20;

/** Must run exactly once. */
export function onceSpec(place: WitnessPlace): PodSpec {
  return spec(place, { restartPolicy: "Never", containers: [container(place, "task", task("task", taskLines))] });
}

export function serverSpec(place: WitnessPlace): PodSpec {
  return spec(place, { containers: [container(place, "server", server("server"))] });
}

/** Serves, and shows in its first line what a ConfigMap, a Secret and a token have given it. */
export function fedSpec(place: WitnessPlace): PodSpec {
  const script = `${begin("server")}
echo "$token $CONFIG $(cat /secret/word) $(wc -c </var/run/secrets/kubernetes.io/serviceaccount/token)" >>$here/server.fed
trap 'exit 0' TERM
while :; do line; sleep 0.2; done`;
  const env = [
    { name: "POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
    { name: "CONFIG", valueFrom: { configMapKeyRef: { name: "words", key: "word" } } },
  ];
  const whole = spec(place, { containers: [] });
  return {
    ...whole,
    volumes: [...(whole.volumes ?? []), { name: "secret", secret: { secretName: "words" } }],
    containers: [
      container(place, "server", script, {
        env,
        volumeMounts: [
          { name: "witness", mountPath: MOUNT },
          { name: "secret", mountPath: "/secret" },
        ],
      }),
    ],
  };
}

/** What the containers of one pod have written about themselves. */
export class Witness {
  readonly #directory: string;

  /** `directory`: the witness directory as this process sees it. */
  constructor(directory: string, uid: string) {
    this.#directory = join(directory, uid);
  }

  /** Tokens of all starts, in order. */
  starts(container: string): string[] {
    return this.lines(`${container}.starts`);
  }

  /** Tokens of starts that went on after a later one had begun. */
  overlaps(container: string): string[] {
    const tokens = this.lines(`${container}.lines`);
    return tokens.filter((token, index) => tokens[index - 1] !== token && tokens.indexOf(token) < index);
  }

  /** How many lines a start has written, or was about to. */
  written(container: string, token: string): number {
    return this.lines(`${container}.lines`).filter((each) => each === token).length;
  }

  has(mark: string): boolean {
    return this.lines(mark).length > 0;
  }

  /** Names of everything that was written. */
  files(): string[] {
    return existsSync(this.#directory) ? readdirSync(this.#directory) : [];
  }

  lines(file: string): string[] {
    try {
      return readFileSync(join(this.#directory, file), "utf8").split("\n").slice(0, -1);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }
}
