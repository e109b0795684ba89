-- Nothing is written until it is resumed; reads and status go on.
obj.spec.suspend = true
return obj
