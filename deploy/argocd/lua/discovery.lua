-- The actions that are available for an object in its current state.
local actions = {}
actions["sync-now"] = { ["displayName"] = "Sync now", ["iconClass"] = "fa fa-fw fa-sync" }

if obj.kind == "WafInstance" or obj.kind == "WafCacheClear" or obj.kind == "WafAutoBlock" then
  local isSuspended = obj.spec.suspend == true
  actions["suspend"] = { ["displayName"] = "Suspend", ["iconClass"] = "fa fa-fw fa-pause", ["disabled"] = isSuspended }
  actions["resume"] = { ["displayName"] = "Resume", ["iconClass"] = "fa fa-fw fa-play", ["disabled"] = not isSuspended }
end

if obj.kind == "WafInstance" then
  local isHeld = obj.status ~= nil and obj.status.heldPlan ~= nil
  actions["approve-removals"] = {
    ["displayName"] = "Approve removals",
    ["iconClass"] = "fa fa-fw fa-check",
    ["disabled"] = not isHeld,
  }
  actions["clear-cache"] = { ["displayName"] = "Clear cache", ["iconClass"] = "fa fa-fw fa-eraser" }
end

return actions
