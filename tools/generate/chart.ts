// charts/fjord from the one source of an installation: the functions that `fjord init` applies make the templates too,
// with Helm's expressions in the places of values.
import type { KubeObject } from "@fjord/base";
import { stringify } from "yaml";
import { type AgentParts, agentObjects, networkPolicy } from "../../packages/agent/src/installation/agent-objects.ts";
import { defaultValues } from "../../packages/agent/src/installation/install-values.ts";
import { followerObjects, gatewayObjects, type LinkParts } from "../../packages/agent/src/installation/link-objects.ts";
import { followerRights, gatewayRights } from "../../packages/agent/src/installation/link-rights.ts";
import { manifests } from "../../packages/agent/src/installation/manifests.ts";
import { type ValueSchema, valuesSchema } from "../../packages/agent/src/installation/values-schema.ts";
import { FJORD_VERSION } from "../../packages/agent/src/version.ts";
import type { GeneratedFile } from "./generated-files.ts";

export const chartDirectory = "charts/fjord";
const NOTE = "Written by `npm run generate` from packages/agent/src/installation.";

/** An expression that stands for a value that is no text: its quotes are taken away. */
const bare = (expression: string) => `@@{{ ${expression} }}@@`;
const OPTIONS = "@@OPTIONS@@";
const LINK_OPTIONS = "@@LINK-OPTIONS@@";
const MORE_LINK_OPTIONS = "@@MORE-LINK-OPTIONS@@";
const NODE_LABEL = "{{ .Values.gateway.nodeLabel }}";

const parts: AgentParts = {
  namespace: "{{ .Release.Namespace }}",
  image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}",
  pullPolicy: "{{ .Values.image.pullPolicy }}",
  pullSecrets: bare("toJson .Values.imagePullSecrets"),
  replicas: bare(".Values.replicas"),
  options: [OPTIONS],
  serviceType: "{{ .Values.service.type }}",
  servicePort: bare(".Values.service.port"),
  resources: bare("toJson .Values.resources"),
  nodeSelector: bare("toJson .Values.nodeSelector"),
  tolerations: bare("toJson .Values.tolerations"),
};

const linkParts: LinkParts = {
  ...parts,
  isScraped: true,
  options: [MORE_LINK_OPTIONS],
  resources: bare("toJson .Values.gateway.resources"),
  tolerations: bare("toJson .Values.gateway.tolerations"),
};

const moreLinkOptions = `{{- range .Values.gateway.extraArgs }}
            - {{ . | quote }}
            {{- end }}`;
const linkOptions = `{{- with .Values.gateway.endpoint }}
            - {{ printf "--endpoint=%s" . | quote }}
            {{- end }}
            ${moreLinkOptions}`;

const options = `{{- with .Values.siteName }}
            - {{ printf "--site-name=%s" . | quote }}
            {{- end }}
            {{- with .Values.tier }}
            - {{ printf "--tier=%s" . | quote }}
            {{- end }}
            {{- range .Values.endpoints }}
            - {{ printf "--endpoint=%s" . | quote }}
            {{- end }}
            {{- range .Values.guestPrivileges }}
            - {{ printf "--guest-privilege=%s" . | quote }}
            {{- end }}
            {{- range .Values.extraArgs }}
            - {{ . | quote }}
            {{- end }}`;

export function chart(): GeneratedFile[] {
  const base = manifests({ namespace: parts.namespace });
  const definitions = base.filter(({ kind }) => kind === "CustomResourceDefinition");
  const rights = base.filter(({ kind }) => kind !== "CustomResourceDefinition" && kind !== "Namespace");
  const file = (path: string, text: string) => ({ path: `${chartDirectory}/${path}`, text });
  return [
    file("Chart.yaml", chartYaml),
    file("values.yaml", valuesYaml()),
    file(
      "values.schema.json",
      `${JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...valuesSchema, properties: { ...valuesSchema.properties, global: { type: "object" } } }, undefined, 2)}\n`,
    ),
    file("templates/kinds.yaml", guarded(".Values.crds.install", definitions.map(literal))),
    file("templates/rights.yaml", whole(rights.map(template))),
    file("templates/agent.yaml", whole(agentObjects(parts).map(template))),
    file("templates/network-policy.yaml", guarded(".Values.networkPolicy.enabled", [template(networkPolicy(parts))])),
    file("templates/gateway.yaml", guarded(".Values.gateway.enabled", gatewayTemplates())),
    file(
      "templates/follower.yaml",
      guarded("and .Values.gateway.enabled .Values.gateway.nodeLabel", [
        ...followerRights(parts.namespace).map(template),
        ...followerObjects({ ...linkParts, nodeLabel: NODE_LABEL }).map(linkTemplate),
      ]),
    ),
    file("templates/NOTES.txt", notes),
  ];
}

function gatewayTemplates(): string[] {
  const carrying = { ...linkParts, options: [LINK_OPTIONS], nodeLabel: NODE_LABEL };
  const labelled = new RegExp(`^ *- key: "${NODE_LABEL}"\\n *operator: Exists\\n`, "m");
  const sets = gatewayObjects(carrying)
    .map(linkTemplate)
    .map((text) => text.replace(labelled, (lines) => `{{- if .Values.gateway.nodeLabel }}\n${lines}{{- end }}\n`));
  return [...gatewayRights(parts.namespace).map(template), ...sets];
}

/** With what makes metrics known to others only where they shall be. */
function linkTemplate(object: KubeObject): string {
  const scraped = /^ *annotations:\n(?: *prometheus\.io\/.*\n)+|^ *- --scrape-address=.*\n/gm;
  return template(object).replaceAll(
    scraped,
    (lines) => `{{- if .Values.gateway.metrics.enabled }}\n${lines}{{- end }}\n`,
  );
}

const chartYaml = `# ${NOTE}
apiVersion: v2
name: fjord
description: One computing continuum out of many Kubernetes clusters
type: application
version: ${FJORD_VERSION}
appVersion: ${FJORD_VERSION}
kubeVersion: ">=1.30.0-0"
`;

const notes = `The agent of this site starts in namespace {{ .Release.Namespace }}.

  fjord status                # shows the site once it has introduced itself
  fjord pair token            # prints a token for another site to pair with
{{- if not .Values.endpoints }}

No endpoints are set: other sites cannot dial this one, and it dials out to those that it is paired with.
{{- end }}
`;

function whole(documents: readonly string[]): string {
  return `# ${NOTE}\n${documents.map((text) => `---\n${text}`).join("")}`;
}

function guarded(condition: string, documents: readonly string[]): string {
  return `# ${NOTE}\n{{- if ${condition} }}\n${documents.map((text) => `---\n${text}`).join("")}{{- end }}\n`;
}

function template(object: KubeObject): string {
  return yaml(object)
    .replace(/^ *- ["']?@@OPTIONS@@["']?$/m, `            ${options}`)
    .replace(/^ *- ["']?@@LINK-OPTIONS@@["']?$/m, `            ${linkOptions}`)
    .replace(/^ *- ["']?@@MORE-LINK-OPTIONS@@["']?$/m, `            ${moreLinkOptions}`)
    .replaceAll(/["']?@@(\{\{.*?\}\})@@["']?/g, "$1");
}

/** What has braces of its own is not to be read by Helm. */
function literal(object: KubeObject): string {
  return yaml(object).replaceAll("{{", '{{ "{{" }}');
}

function yaml(object: KubeObject): string {
  return stringify(object, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** The defaults, each with what it means before it. */
function valuesYaml(): string {
  return `# ${NOTE} values.schema.json says what each may be.\n${documented(defaultValues, valuesSchema, "")}`;
}

function documented(values: object, schema: ValueSchema, indent: string): string {
  return Object.entries(values)
    .map(([name, value]) => {
      const inner = schema.properties?.[name];
      const about = inner?.description ? `${indent}# ${inner.description}\n` : "";
      const choices = inner?.enum ? `${indent}# One of ${inner.enum.map((each) => each || '""').join(", ")}.\n` : "";
      if (inner?.properties !== undefined)
        return `${indent === "" ? "\n" : ""}${about}${indent}${name}:\n${documented(value, inner, `${indent}  `)}`;
      return `${indent === "" ? "\n" : ""}${about}${choices}${stringify({ [name]: value }).replaceAll(/^(?=.)/gm, indent)}`;
    })
    .join("");
}
