-- The health of a WafInstance, WafIpRule, WafOrigin, WafCacheClear, WafFeed or WafAutoBlock, read from its conditions as kstatus reads them:
--   Progressing  not processed yet, in progress, or being retried
--   Suspended    the object is suspended, or removals wait for an approval
--   Degraded     a person has to fix an error
--   Healthy      the WAF matches the declared state

-- Removals on hold await a decision and are not a failure: all other work continues.
local held = { Held = true, TooManyRemovals = true, ContentOnHold = true }

local function health(status, message)
  return { status = status, message = message }
end

local status = obj.status
if status == nil or status.conditions == nil then
  return health("Progressing", "wafsync has not processed the object yet.")
end
if obj.metadata.generation ~= nil and status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "wafsync has not processed the last change yet.")
end

local found = {}
for _, condition in ipairs(status.conditions) do
  found[condition.type] = condition
end
local function isTrue(type)
  return found[type] ~= nil and found[type].status == "True"
end
-- Ready carries the details, except those that outlast it.
local lasting = { Held = "RemovalsHeld", SourceBroken = "SourceBroken" }
local function details(type)
  local ready = found.Ready
  if ready == nil or found[type].reason ~= ready.reason then
    return found[type].message
  end
  return (found[lasting[ready.reason]] or ready).message
end
local function summary(type)
  return found[type].reason .. ": " .. details(type)
end

if isTrue("Reconciling") then
  if found.Ready ~= nil and found.Ready.status == "False" then
    return health("Progressing", summary("Ready"))
  end
  return health("Progressing", details("Reconciling"))
end
if isTrue("Stalled") then
  if held[found.Stalled.reason] then
    return health("Suspended", summary("Stalled"))
  end
  return health("Degraded", summary("Stalled"))
end
if found.Ready == nil then
  return health("Progressing", "wafsync has not reported yet whether the object is ready.")
end
if isTrue("RemovalsHeld") then
  return health("Suspended", summary("RemovalsHeld"))
end
if isTrue("Ready") then
  return health("Healthy", found.Ready.message)
end
if found.Ready.reason == "Suspended" then
  return health("Suspended", summary("Ready"))
end
return health("Progressing", summary("Ready"))
