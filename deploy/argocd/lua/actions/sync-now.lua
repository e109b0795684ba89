-- Requests a reconcile run now instead of at the next resync.
local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["wafsync.dev/requested-at"] = os.date("!%Y-%m-%dT%XZ")
return obj
