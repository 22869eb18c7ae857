import type {
  ConfigMap,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RuntimeClass,
  Secret,
  Service,
} from "@fjord/kube";
import type { BoundToken, PodObjects, TokenRequestSpec } from "../../objects/pod-objects.ts";

/** Objects of a test, given by their parts. */
export class MemoryObjects implements PodObjects {
  readonly configMaps = new Map<string, ConfigMap>();
  readonly secrets = new Map<string, Secret>();
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly persistentVolumes = new Map<string, PersistentVolume>();
  readonly serviceList: Service[] = [];
  readonly tokenRequests: TokenRequestSpec[] = [];
  nextToken: BoundToken = { token: "token-1", expiresAt: 3_600_000, refreshAt: 2_880_000 };

  setConfigMap(name: string, data: Record<string, string>, binaryData: Record<string, string> = {}): void {
    this.configMaps.set(`test/${name}`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "test" },
      data,
      binaryData,
    });
  }

  setSecret(name: string, data: Record<string, string | Buffer>): void {
    const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
    this.secrets.set(`test/${name}`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: "test" },
      data: Object.fromEntries(encoded),
    });
  }

  addService(namespace: string, name: string, spec: NonNullable<Service["spec"]>): void {
    this.serviceList.push({ apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec });
  }

  async configMap(namespace: string, name: string) {
    return this.configMaps.get(`${namespace}/${name}`);
  }
  async secret(namespace: string, name: string) {
    return this.secrets.get(`${namespace}/${name}`);
  }
  async claim(namespace: string, name: string) {
    return this.claims.get(`${namespace}/${name}`);
  }
  async persistentVolume(name: string) {
    return this.persistentVolumes.get(name);
  }
  async runtimeClass(): Promise<RuntimeClass | undefined> {
    return undefined;
  }
  async services() {
    return this.serviceList;
  }
  async token(_pod: Pod, request: TokenRequestSpec) {
    this.tokenRequests.push(request);
    return this.nextToken;
  }
  follow() {}
  forget() {}
  onChange() {
    return () => {};
  }
}
