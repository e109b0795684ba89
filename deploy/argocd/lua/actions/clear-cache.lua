-- Creates a WafCacheClear that the instance owns, and that is deleted an hour after it finished.
local os = require("os")
local clear = {}
clear.apiVersion = "wafsync.dev/v1alpha1"
clear.kind = "WafCacheClear"
clear.metadata = {
  name = obj.metadata.name .. "-" .. os.date("!%Y%m%d%H%M%S"),
  namespace = obj.metadata.namespace,
  ownerReferences = {
    { apiVersion = obj.apiVersion, kind = obj.kind, name = obj.metadata.name, uid = obj.metadata.uid },
  },
}
clear.spec = { instanceRef = { name = obj.metadata.name }, ttlSecondsAfterFinished = 3600 }
return { { operation = "create", resource = clear } }
