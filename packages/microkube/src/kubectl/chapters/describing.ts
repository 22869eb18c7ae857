import type { Chapter } from "../chapter.ts";

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: boats.NAMESPACE.example.com }
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: { plural: boats, singular: boat, kind: Boat, shortNames: [bt], categories: [fleet] }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {}, scale: { specReplicasPath: .spec.crew, statusReplicasPath: .status.crew } }
      selectableFields: [{ jsonPath: .spec.kind }]
      additionalPrinterColumns:
        - { name: Crew, type: integer, jsonPath: .spec.crew, description: How many sail it. }
        - { name: Kind, type: string, jsonPath: .spec.kind, priority: 1 }
        - { name: Age, type: date, jsonPath: .metadata.creationTimestamp }
      schema:
        openAPIV3Schema:
          type: object
          description: A boat sails.
          required: [spec]
          properties:
            spec:
              type: object
              description: What it shall be.
              required: [crew]
              x-kubernetes-validations: [{ rule: "self.crew < 10", message: too many }]
              properties:
                crew: { type: integer, description: How many sail it., minimum: 1 }
                kind: { type: string, enum: [sail, motor], default: sail }
                masts: { type: array, items: { type: object, properties: { height: { type: number } } } }
                ports: { type: object, additionalProperties: { type: string } }
            status: { type: object, properties: { crew: { type: integer } } }
`;

const boat = `
apiVersion: NAMESPACE.example.com/v1
kind: Boat
metadata: { name: one }
spec: { crew: 2, masts: [{ height: 3.5 }] }
`;

/** What the server says of itself and its kinds, custom ones too; resource.k8s.io is none of microkube's. */
export const describing: Chapter = {
  about: "describing",
  files: { "definition.yaml": definition, "boat.yaml": boat },
  script: `
    kubectl version -o json | grep -v -e buildDate -e gitCommit -e goVersion -e compiler -e platform -e gitTreeState -e gitVersion
    kubectl cluster-info
    kubectl api-versions | grep -v -e example.com -e resource.k8s.io
    kubectl api-resources | grep -v -e example.com -e resource.k8s.io
    kubectl api-resources -o wide | grep -v -e example.com -e resource.k8s.io
    kubectl api-resources -o name --verbs=list,get --namespaced=false | grep -v -e example.com -e resource.k8s.io
    kubectl api-resources --api-group=apps --sort-by=kind
    kubectl api-resources --categories=all
    kubectl api-resources --api-group=none
    kubectl get --raw /api
    kubectl get --raw /apis/apps
    kubectl get --raw /healthz
    kubectl get --raw /version | grep -c gitVersion
    kubectl explain pods
    kubectl explain pod.spec.containers
    kubectl explain pod.spec.containers.livenessProbe.httpGet
    kubectl explain pod.spec.nothing
    kubectl explain nothing
    kubectl explain deployments --recursive
    kubectl explain service.spec --recursive
    kubectl explain cronjob.spec.jobTemplate.spec
    kubectl explain hpa --api-version=autoscaling/v1
    kubectl explain customresourcedefinition.spec.versions
    kubectl explain networkpolicy.spec.ingress.from
    kubectl explain role.rules
    kubectl explain node.status
    kubectl explain pdb.spec
    kubectl explain apiservice.spec
    kubectl explain event
    kubectl explain pod.metadata
    kubectl explain statefulset.spec.persistentVolumeClaimRetentionPolicy
    kubectl explain validatingadmissionpolicy.spec.validations
    kubectl config current-context
    kubectl config view --minify -o jsonpath='{.contexts[0].context.namespace}'
    kubectl config get-contexts -o name
    kubectl config set-context other --namespace=other --cluster=none
    kubectl config use-context absent
    sed "s/NAMESPACE/$NAMESPACE/" definition.yaml > d.yaml; sed "s/NAMESPACE/$NAMESPACE/" boat.yaml > b.yaml
    kubectl create -f d.yaml
    kubectl wait --for=condition=Established crd/boats.$NAMESPACE.example.com --timeout=20s
    kubectl get crd boats.$NAMESPACE.example.com
    kubectl get crd boats.$NAMESPACE.example.com -o yaml
    kubectl describe crd boats.$NAMESPACE.example.com
    unseen: until kubectl explain boats.$NAMESPACE.example.com > /dev/null 2>&1; do sleep 0.3; done
    kubectl explain boats.$NAMESPACE.example.com
    kubectl explain boats.$NAMESPACE.example.com --recursive
    kubectl explain boats.$NAMESPACE.example.com.spec
    kubectl api-resources --api-group=$NAMESPACE.example.com
    kubectl api-resources --categories=fleet --api-group=$NAMESPACE.example.com
    kubectl get boats.$NAMESPACE.example.com
    kubectl apply -f b.yaml
    kubectl get -f b.yaml
    kubectl get -f b.yaml -o wide
    kubectl get -f b.yaml -o yaml --show-managed-fields
    kubectl get boats.$NAMESPACE.example.com --field-selector=spec.kind=sail
    kubectl get boats.$NAMESPACE.example.com --field-selector=spec.crew=1
    kubectl describe -f b.yaml
    kubectl scale -f b.yaml --replicas=4
    kubectl scale -f b.yaml --replicas=20
    kubectl patch -f b.yaml -p '{"spec":{"crew":1}}'
    kubectl patch -f b.yaml --type=merge -p '{"spec":{"crew":0}}'
    sorted: kubectl patch -f b.yaml --type=merge -p '{"spec":{"kind":"steam","crew":"x"}}'
    kubectl patch -f b.yaml --type=merge -p '{"spec":{"wings":2}}'
    kubectl patch -f b.yaml --type=merge --subresource=status -p '{"status":{"crew":4}}'
    kubectl get -f b.yaml --subresource=scale -o yaml
    sed s/crew/oars/ b.yaml | kubectl create -f - --dry-run=server
    sed s/crew/oars/ b.yaml | kubectl create -f - --validate=false --dry-run=server
    sed 's/crew: 2/crew: 3/' b.yaml | kubectl diff -f - | grep -v '^\\(---\\|+++\\|diff\\)'
    sed 's/crew: 2/crew: 3/' b.yaml | kubectl apply --server-side --force-conflicts -f -
    kubectl delete -f d.yaml
    kubectl get boats.$NAMESPACE.example.com
    echo '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"x"},"spec":{"group":"a.b","scope":"Both","names":{"plural":"x","kind":"X"},"versions":[{"name":"v1","served":true,"storage":true}]}}' | kubectl create -f -
  `,
};
