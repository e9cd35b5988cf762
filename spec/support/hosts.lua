--- Known hosts: the shipped ones.
return require("procage.hosts")
