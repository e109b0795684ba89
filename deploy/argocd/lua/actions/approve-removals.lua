-- Lets exactly the plan through that is held now. A plan that changes in the meantime has another hash, and is held again.
if obj.status == nil or obj.status.heldPlan == nil then
  error("No removals are held.")
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["wafsync.dev/approve-removals"] = obj.status.heldPlan
return obj
