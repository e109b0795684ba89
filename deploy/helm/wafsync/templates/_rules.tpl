{{- /* Written by `npm run generate` from deploy/kustomize. Edit that instead. */ -}}
{{- define "wafsync.rules.cluster" -}}
- apiGroups:
    - wafsync.dev
  resources:
    - wafinstances
    - wafiprules
    - waforigins
    - wafcacheclears
    - waffeeds
    - wafautoblocks
  verbs:
    - get
    - list
    - watch
- apiGroups:
    - wafsync.dev
  resources:
    - wafinstances/status
    - wafiprules/status
    - waforigins/status
    - wafcacheclears/status
    - waffeeds/status
    - wafautoblocks/status
  verbs:
    - patch
- apiGroups:
    - wafsync.dev
  resources:
    - wafinstances
  verbs:
    - patch
- apiGroups:
    - wafsync.dev
  resources:
    - wafcacheclears
  verbs:
    - delete
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - get
- apiGroups:
    - wafsync.dev
  resources:
    - wafrecords
  verbs:
    - get
    - list
    - create
    - update
    - patch
    - delete
- apiGroups:
    - ""
  resources:
    - configmaps
  verbs:
    - get
    - list
    - watch
- apiGroups:
    - ""
  resources:
    - events
  verbs:
    - create
    - patch
- apiGroups:
    - apps
  resources:
    - deployments
    - statefulsets
    - daemonsets
  verbs:
    - get
    - list
    - watch
- apiGroups:
    - ""
  resources:
    - namespaces
  verbs:
    - get
    - list
    - watch
{{- end }}

{{- define "wafsync.rules.namespaced" -}}
- apiGroups:
    - wafsync.dev
  resources:
    - wafinstances
    - wafiprules
    - waforigins
    - wafcacheclears
    - waffeeds
    - wafautoblocks
  verbs:
    - get
    - list
    - watch
- apiGroups:
    - wafsync.dev
  resources:
    - wafinstances/status
    - wafiprules/status
    - waforigins/status
    - wafcacheclears/status
    - waffeeds/status
    - wafautoblocks/status
  verbs:
    - patch
- apiGroups:
    - wafsync.dev
  resources:
    - wafinstances
  verbs:
    - patch
- apiGroups:
    - wafsync.dev
  resources:
    - wafcacheclears
  verbs:
    - delete
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - get
- apiGroups:
    - wafsync.dev
  resources:
    - wafrecords
  verbs:
    - get
    - list
    - create
    - update
    - patch
    - delete
- apiGroups:
    - ""
  resources:
    - configmaps
  verbs:
    - get
    - list
    - watch
- apiGroups:
    - ""
  resources:
    - events
  verbs:
    - create
    - patch
- apiGroups:
    - apps
  resources:
    - deployments
    - statefulsets
    - daemonsets
  verbs:
    - get
    - list
    - watch
{{- end }}

{{- define "wafsync.rules.lease" -}}
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - get
    - create
    - update
{{- end }}

{{- define "wafsync.rules.view" -}}
- apiGroups:
    - wafsync.dev
  resources:
    - wafinstances
    - wafiprules
    - waforigins
    - wafcacheclears
    - waffeeds
    - wafautoblocks
  verbs:
    - get
    - list
    - watch
{{- end }}

{{- define "wafsync.aggregation.view" -}}
rbac.authorization.k8s.io/aggregate-to-view: "true"
rbac.authorization.k8s.io/aggregate-to-edit: "true"
rbac.authorization.k8s.io/aggregate-to-admin: "true"
{{- end }}

{{- define "wafsync.rules.edit" -}}
- apiGroups:
    - wafsync.dev
  resources:
    - wafiprules
    - waforigins
    - wafcacheclears
    - waffeeds
    - wafautoblocks
  verbs:
    - create
    - update
    - patch
    - delete
    - deletecollection
{{- end }}

{{- define "wafsync.aggregation.edit" -}}
rbac.authorization.k8s.io/aggregate-to-edit: "true"
rbac.authorization.k8s.io/aggregate-to-admin: "true"
{{- end }}

{{- define "wafsync.rules.admin" -}}
- apiGroups:
    - wafsync.dev
  resources:
    - wafinstances
  verbs:
    - create
    - update
    - patch
    - delete
    - deletecollection
{{- end }}

{{- define "wafsync.aggregation.admin" -}}
rbac.authorization.k8s.io/aggregate-to-admin: "true"
{{- end }}
