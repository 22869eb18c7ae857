import type { Chapter } from "../chapter.ts";

const sets = `
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  serviceName: db
  replicas: 2
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: db, image: "db:1" }] }
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: { chapter: NAMESPACE }
      containers: [{ name: agent, image: "agent:1" }]
`;

/** Workloads from their making to their autoscaling, and how they are rolled out and back. */
export const workloads: Chapter = {
  about: "workloads",
  files: { "sets.yaml": sets },
  script: `
    kubectl create deployment web --image=nginx:1 --replicas=2 --port=80
    last: kubectl rollout status deployment web --timeout=60s
    kubectl scale deployment web --replicas=3
    kubectl scale deployment web --replicas=2 --current-replicas=9
    kubectl scale deployment web --replicas=1 --current-replicas=3 --timeout=20s
    kubectl scale deployment absent --replicas=1
    kubectl scale deployment web --replicas=-1
    kubectl wait --for=jsonpath='{.status.readyReplicas}'=1 deployment/web --timeout=20s
    kubectl get deployment web
    kubectl expose deployment web --port=80 --target-port=8080 --name=front
    kubectl expose deployment web --port=80 --name=front
    kubectl expose deployment web --type=NodePort --name=outer --session-affinity=ClientIP -o name
    kubectl expose service front --port=81 --name=second
    kubectl get services -o wide
    kubectl get endpoints front
    kubectl get endpointslices -l kubernetes.io/service-name=front
    kubectl describe service front
    newest: kubectl autoscale deployment web --min=1 --max=3 --cpu=50%
    unseen: kubectl autoscale deployment web --min=1 --max=3 --cpu-percent=50
    kubectl get hpa web
    kubectl get hpa web -o jsonpath='{.spec}'
    kubectl describe hpa web
    kubectl delete hpa web
    kubectl set image deployment/web nginx=nginx:2
    kubectl set image deployment/web none=nginx:2
    kubectl annotate deployment web kubernetes.io/change-cause='second image'
    last: kubectl rollout status deployment web --timeout=60s
    kubectl set env deployment/web A=1 B=two
    kubectl set env deployment/web --list
    kubectl set env deployment/web A-
    kubectl set env deployment/web --from=configmap/absent
    kubectl set resources deployment/web --limits=cpu=200m,memory=64Mi --requests=cpu=100m
    kubectl set resources deployment/web --limits=cpu=50m
    kubectl set serviceaccount deployment/web default
    kubectl set selector service front app=web,extra=yes
    kubectl create serviceaccount robot
    kubectl create rolebinding viewers --clusterrole=view --user=jane
    kubectl set subject rolebinding viewers --serviceaccount=$NAMESPACE:robot
    kubectl get rolebinding viewers -o jsonpath='{.subjects}'
    last: kubectl rollout status deployment web --timeout=60s
    kubectl rollout history deployment web
    kubectl rollout history deployment web --revision=1
    kubectl rollout history deployment web --revision=99
    kubectl rollout undo deployment web --to-revision=2 --dry-run=server
    kubectl rollout undo deployment web
    kubectl rollout undo deployment web --to-revision=99
    last: kubectl rollout status deployment web --timeout=60s
    kubectl rollout history deployment web
    kubectl rollout pause deployment web
    kubectl rollout pause deployment web
    kubectl set image deployment/web nginx=nginx:3
    timeout 2 kubectl rollout status deployment web --watch=false
    kubectl rollout undo deployment web
    kubectl get deployment web -o jsonpath='{.spec.paused} {.status.conditions[*].reason}'
    kubectl rollout resume deployment web
    kubectl rollout resume deployment web
    last: kubectl rollout status deployment web --timeout=60s
    kubectl rollout restart deployment web
    last: kubectl rollout status deployment web --timeout=60s
    kubectl wait --for=delete pod -l app=web,none=here --timeout=5s
    sorted: kubectl get replicasets -o wide
    sorted: kubectl get deployments,pods -l app=web --no-headers -o custom-columns=K:.kind,P:.status.phase,I:..image
    kubectl get deployment web -o yaml
    kubectl describe deployment web | grep -v ScalingReplicaSet
    kubectl describe pods -l app=web | sed '/^Node:/d;/Successfully assigned/d'
    kubectl label node $NODE chapter=$NAMESPACE --overwrite
    sed "s/NAMESPACE/$NAMESPACE/" sets.yaml | kubectl apply -f -
    last: kubectl rollout status statefulset db --timeout=60s
    last: kubectl rollout status daemonset agent --timeout=60s
    kubectl get statefulsets,daemonsets -o wide
    kubectl get pods -l app=db
    kubectl get statefulset db -o yaml
    kubectl get daemonset agent -o yaml
    kubectl get controllerrevisions
    sorted: kubectl describe statefulset db
    sorted: kubectl describe daemonset agent
    kubectl set image statefulset/db db=db:2
    last: kubectl rollout status statefulset db --timeout=60s
    kubectl set image daemonset/agent agent=agent:2
    last: kubectl rollout status daemonset agent --timeout=60s
    kubectl rollout history statefulset db
    kubectl rollout history daemonset agent
    kubectl rollout history daemonset agent --revision=2
    kubectl rollout undo daemonset agent
    kubectl rollout undo statefulset db --to-revision=1
    last: kubectl rollout status statefulset db --timeout=60s
    kubectl get statefulset db -o jsonpath='{.spec.template.spec.containers[0].image}'
    kubectl rollout restart daemonset/agent statefulset/db
    kubectl rollout status service front
    kubectl scale statefulset db --replicas=0
    kubectl scale --replicas=1 deployment/web statefulset/db
    kubectl create cronjob often --image=busybox --schedule='0 0 1 1 *' -- true
    kubectl create job manual --from=cronjob/often
    kubectl create job once --image=busybox -- true
    kubectl wait --for=condition=complete job/once --timeout=1s
    kubectl patch job once -p '{"spec":{"suspend":true}}'
    kubectl wait --for=condition=suspended job/once --timeout=20s
    kubectl get jobs
    sorted: kubectl describe job once
    kubectl describe cronjob often
    kubectl get job manual -o yaml
    kubectl wait --for=condition=Available deployment/web --timeout=30s
    kubectl wait --for=condition=Available=false deployment/web --timeout=1s
    kubectl wait --for=jsonpath='{.spec.replicas}'=1 deployment/web
    kubectl wait --for=jsonpath='{.spec.nothing}' deployment/web --timeout=1s
    kubectl wait --for=create deployment/web --timeout=5s
    kubectl wait --for=create configmap/absent --timeout=1s
    kubectl wait --for=nonsense deployment/web
    kubectl wait --for=condition=Ready pod/absent --timeout=1s
    kubectl wait --for=delete deployment/absent
    kubectl delete deployment web --wait=false
    kubectl wait --for=delete deployment/web --timeout=30s
    kubectl label node $NODE chapter-
  `,
};
