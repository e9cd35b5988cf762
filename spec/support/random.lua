--- Numbers from a seed: a generator of our own, so that a seed means the same everywhere.

---@param seed integer
---@return fun(n: integer): integer  1..n
return function(seed)
  local state = seed * 2654435761 + 12345
  return function(n)
    state = (state * 6364136223846793005 + 1442695040888963407) & 0xffffffffffffffff
    return (state >> 33) % n + 1
  end
end
