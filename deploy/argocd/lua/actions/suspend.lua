-- While an object is suspended, wafsync writes nothing to the WAF, but continues to read it and to update the status.
obj.spec.suspend = true
return obj
