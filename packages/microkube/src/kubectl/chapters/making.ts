import type { Chapter } from "../chapter.ts";

const wrong = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: wrong, labels: { "not a label": x } }
spec:
  replicas: -1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: other } }
    spec: { containers: [{ name: Web }] }
`;

const unknown = `
apiVersion: v1
kind: Service
metadata: { name: unknown, nickname: x }
spec: { ports: [{ port: 80, protocl: TCP }], selector: { app: x } }
`;

const several = `
apiVersion: v1
kind: ConfigMap
metadata: { generateName: made- }
data: { a: b }
---
apiVersion: v1
kind: Nothing
metadata: { name: x }
---
apiVersion: v1
kind: Secret
metadata: { name: last }
stringData: { key: value }
`;

const policies = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: front }
spec:
  podSelector: { matchLabels: { tier: front } }
  policyTypes: [Ingress, Egress]
  ingress: [{ from: [{ podSelector: { matchLabels: { tier: back } } }], ports: [{ port: 80 }] }]
---
apiVersion: v1
kind: LimitRange
metadata: { name: limits }
spec: { limits: [{ type: Container, max: { cpu: "2" }, default: { cpu: "1" }, defaultRequest: { cpu: 100m } }] }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } }, storageClassName: none }
---
apiVersion: v1
kind: Endpoints
metadata: { name: outside }
subsets: [{ addresses: [{ ip: 192.0.2.1 }], ports: [{ port: 80 }] }]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: web }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: absent }
  maxReplicas: 3
  metrics: [{ type: Resource, resource: { name: cpu, target: { type: Utilization, averageUtilization: 50 } } }]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: { name: lock }
spec: { holderIdentity: me, leaseDurationSeconds: 10 }
---
apiVersion: v1
kind: ReplicationController
metadata: { name: controller }
spec:
  replicas: 0
  selector: { app: rc }
  template: { metadata: { labels: { app: rc } }, spec: { containers: [{ name: c, image: nginx }] } }
---
apiVersion: v1
kind: PodTemplate
metadata: { name: template }
template: { metadata: { labels: { app: t } }, spec: { containers: [{ name: c, image: nginx }] } }
`;

const cluster = `
apiVersion: v1
kind: PersistentVolume
metadata: { name: NAMESPACE-volume }
spec: { capacity: { storage: 1Gi }, accessModes: [ReadWriteOnce], storageClassName: none-such, hostPath: { path: /tmp/x } }
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: NAMESPACE-class }
provisioner: example.com/none
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: { name: NAMESPACE-ingress }
spec: { controller: example.com/none }
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: NAMESPACE-hook }
webhooks:
  - name: hook.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    objectSelector: { matchLabels: { never: ever } }
    clientConfig: { url: "https://example.com/" }
    rules: [{ apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods] }]
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: { name: NAMESPACE-runtime }
handler: none
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: { name: NAMESPACE-driver }
`;

/** Creating by generators and by files, tables and descriptions of what was made, and what is refused. */
export const making: Chapter = {
  about: "making",
  files: {
    "wrong.yaml": wrong,
    "unknown.yaml": unknown,
    "several.yaml": several,
    "policies.yaml": policies,
    "cluster.yaml": cluster,
    "settings.env": "A=1\nB=2\n",
    "text.txt": "some text\n",
  },
  script: `
    kubectl create namespace $NAMESPACE
    kubectl create namespace "not valid"
    kubectl create deployment web --image=nginx:1 --replicas=0 --port=80 --dry-run=client -o yaml
    kubectl create deployment web --image=nginx:1 --replicas=0 --port=80 --dry-run=server -o yaml
    kubectl create deployment web --image=nginx:1 --replicas=0 --port=80
    kubectl create deployment web --image=nginx:1
    kubectl create configmap files --from-file=text.txt --from-file=key=text.txt
    kubectl create configmap env --from-env-file=settings.env
    kubectl create configmap hashed --from-literal=a=b --append-hash
    kubectl create secret generic secret --from-literal=user=me --from-file=text.txt
    kubectl create secret docker-registry registry --docker-server=r.example.com --docker-username=u --docker-password=p
    kubectl create service clusterip plain --tcp=80:8080
    kubectl create service clusterip headless --clusterip=None
    kubectl create service nodeport port --tcp=80
    kubectl create service loadbalancer balanced --tcp=80:8080 --tcp=443
    kubectl create service externalname outer --external-name=example.com
    kubectl create ingress ingress --rule='example.com/path*=plain:80,tls=secret' --class=none
    kubectl create -f policies.yaml
    kubectl create quota quota --hard=pods=50,services=20,requests.cpu=4
    kubectl create poddisruptionbudget budget --selector=app=web --min-available=1
    kubectl create priorityclass $NAMESPACE-high --value=1000 --description=high
    kubectl create role reader --verb=get,list --resource=pods,deployments.apps
    kubectl create clusterrole $NAMESPACE-reader --verb=get --resource=nodes --non-resource-url=/healthz
    kubectl create rolebinding reader --role=reader --user=jane --group=team --serviceaccount=$NAMESPACE:robot
    kubectl create clusterrolebinding $NAMESPACE-reader --clusterrole=$NAMESPACE-reader --user=jane
    kubectl create serviceaccount robot
    kubectl create job once --image=busybox -- true
    kubectl create cronjob often --image=busybox --schedule='0 0 1 1 *' -- true
    kubectl create cronjob wrong --image=busybox --schedule='never'
    sed "s/NAMESPACE/$NAMESPACE/" cluster.yaml | kubectl create -f -
    kubectl create -f several.yaml
    kubectl create -f wrong.yaml
    kubectl create -f unknown.yaml
    kubectl create -f unknown.yaml --validate=ignore --dry-run=server
    kubectl create -f unknown.yaml --validate=warn
    kubectl create -f absent.yaml
    echo 'kind: Pod' | kubectl create -f -
    echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"other"}}' | kubectl create -f -
    echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":1}}' | kubectl create -f -
    echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}' | kubectl create -f -
    echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bare"},"spec":{"containers":[{"name":"a","image":"b"}],"nodeName":"absent"}}' | kubectl create -f - -o name
    kubectl create --raw=/api/v1/namespaces/$NAMESPACE/configmaps -f text.txt
    kubectl run pod --image=nginx --restart=Never --dry-run=server -o name
    kubectl run pod --image=nginx --overrides='{"spec":{"nodeSelector":{"a":"b"}}}' --expose --port=80
    kubectl run
    kubectl get deployments,services,ingresses,networkpolicies -o wide
    kubectl get configmaps,secrets --no-headers -o custom-columns=NAME:.metadata.name,TYPE:.type
    kubectl get secrets,configmaps -l '!none' --field-selector=metadata.name!=kube-root-ca.crt --sort-by=.metadata.name
    kubectl get resourcequotas,limitranges,poddisruptionbudgets
    kubectl get roles,rolebindings,serviceaccounts -o wide
    kubectl get jobs,cronjobs -o wide
    kubectl get persistentvolumeclaims,endpoints,horizontalpodautoscalers,leases,replicationcontrollers,podtemplates -o wide
    kubectl get priorityclass,clusterrole,clusterrolebinding $NAMESPACE-reader $NAMESPACE-high --ignore-not-found
    kubectl get priorityclass $NAMESPACE-high
    kubectl get clusterrole $NAMESPACE-reader
    kubectl get clusterrolebinding $NAMESPACE-reader -o wide
    kubectl get persistentvolume $NAMESPACE-volume -o wide
    kubectl get storageclass $NAMESPACE-class
    kubectl get ingressclass $NAMESPACE-ingress
    kubectl get validatingwebhookconfiguration $NAMESPACE-hook
    kubectl get runtimeclass $NAMESPACE-runtime
    kubectl get csidriver $NAMESPACE-driver
    kubectl describe deployment web
    kubectl describe service plain
    kubectl describe service headless
    kubectl describe service balanced
    kubectl describe service outer
    kubectl describe ingress ingress
    kubectl describe networkpolicy front
    kubectl describe quota quota
    kubectl describe limitrange limits
    kubectl describe poddisruptionbudget budget
    kubectl describe role reader
    kubectl describe rolebinding reader
    kubectl describe clusterrole $NAMESPACE-reader
    kubectl describe clusterrolebinding $NAMESPACE-reader
    kubectl describe serviceaccount robot
    kubectl describe secret secret
    kubectl describe secret registry
    kubectl describe configmap files
    kubectl describe cronjob often
    kubectl describe job once
    kubectl describe persistentvolumeclaim data
    kubectl describe endpoints outside
    kubectl describe endpointslices -l kubernetes.io/service-name=plain | sed '/^Annotations/d'
    kubectl describe hpa web
    kubectl describe lease lock
    kubectl describe replicationcontroller controller
    kubectl describe podtemplate template
    kubectl describe pod pod | sort -u
    kubectl describe priorityclass $NAMESPACE-high
    kubectl describe persistentvolume $NAMESPACE-volume
    kubectl describe storageclass $NAMESPACE-class
    kubectl describe ingressclass $NAMESPACE-ingress
    kubectl describe validatingwebhookconfiguration $NAMESPACE-hook
    kubectl describe runtimeclass $NAMESPACE-runtime
    kubectl describe namespace $NAMESPACE
    kubectl get endpointslices outside -o jsonpath='{.endpoints}' --ignore-not-found
    kubectl get service plain port headless -o yaml
    kubectl get ingress,networkpolicy,limitrange,quota,pdb -o yaml
    kubectl get secret registry last -o yaml
    kubectl get serviceaccount robot -o yaml
    kubectl get hpa web -o yaml
    kubectl get hpa.v1.autoscaling web -o yaml
    kubectl get deployment web -o yaml --show-managed-fields
    kubectl get cronjob often -o yaml --show-managed-fields
    sed "s/NAMESPACE/$NAMESPACE/" cluster.yaml | kubectl delete -f -
    kubectl delete clusterrole,clusterrolebinding $NAMESPACE-reader
    kubectl delete priorityclass $NAMESPACE-high
  `,
};
