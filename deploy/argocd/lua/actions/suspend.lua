-- wafsync writes nothing until it is resumed; it continues to read the WAF and to update the status.
obj.spec.suspend = true
return obj
