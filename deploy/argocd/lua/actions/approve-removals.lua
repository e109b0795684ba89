-- Approves exactly the removals that are on hold now. If they change in the meantime, they have another hash and stay on hold.
if obj.status == nil or obj.status.heldPlan == nil then
  error("No removals are on hold.")
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["wafsync.dev/approve-removals"] = obj.status.heldPlan
return obj
