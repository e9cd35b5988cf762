std = "lua54"
max_line_length = 128
cache = false
-- A method that needs no self, a callback that needs not all its arguments.
self = false
unused_args = false

files["spec"] = { std = "lua54+busted" }
-- A policy script is a chunk that returns a function; .busted and the rockspec are tables.
files["*.rockspec"] = { std = "rockspec" }
