--- Paths as text. Nothing here looks at a disk: `..` is never folded, for behind a symlink it means another place.

local M = {}

---@param text string
---@return boolean
function M.is_absolute(text)
  return text:sub(1, 1) == "/"
end

--- The names in a path, without the empty ones and the dots that mean "here".
---@param text string
---@return string[]
function M.components(text)
  local names = {}
  for name in text:gmatch("[^/]+") do
    if name ~= "." then
      names[#names + 1] = name
    end
  end
  return names
end

--- One spelling for one path: no doubled or trailing slash, no `.`. A `..` stays: only the disk knows where it leads.
---@param text string
---@return string
function M.normalise(text)
  local joined = table.concat(M.components(text), "/")
  if M.is_absolute(text) then
    return "/" .. joined
  end
  return joined == "" and "." or joined
end

--- Whether `..` is one of the names: such a path has yet to be resolved.
---@param text string
---@return boolean
function M.has_parent_step(text)
  for _, name in ipairs(M.components(text)) do
    if name == ".." then
      return true
    end
  end
  return false
end

--- `base` and the names below it; a later absolute part starts afresh, as in a shell's cd.
---@param base string
---@param ... string
---@return string
function M.join(base, ...)
  local result = base
  for _, part in ipairs({ ... }) do
    result = M.is_absolute(part) and part or (result .. "/" .. part)
  end
  return M.normalise(result)
end

--- The directory that holds `text`; nil for the root and for a single relative name.
---@param text string
---@return string?
function M.parent(text)
  local head = M.normalise(text):match("^(.*)/[^/]+$")
  if head == "" then
    return "/"
  end
  return head
end

--- The last name; `/` for the root.
---@param text string
---@return string
function M.basename(text)
  return M.normalise(text):match("([^/]+)$") or "/"
end

--- Whether `text` is `tree` or lies in it, name by name: /srv/ab is not beneath /srv/a.
---@param text string  absolute, resolved
---@param tree string  absolute, resolved
---@return boolean
function M.is_beneath(text, tree)
  local inner, outer = M.normalise(text), M.normalise(tree)
  if inner == outer then
    return true
  elseif outer == "/" then
    return M.is_absolute(inner)
  end
  return inner:sub(1, #outer + 1) == outer .. "/"
end

--- The first of `trees` that `text` lies in.
---@param text string
---@param trees string[]
---@return string?
function M.tree_of(text, trees)
  for _, tree in ipairs(trees) do
    if M.is_beneath(text, tree) then
      return tree
    end
  end
  return nil
end

--- `~` and `~/x` become paths in `home`. `~user` stays as it is: it needs the password file.
---@param text string
---@param home string
---@return string
function M.expand_home(text, home)
  if text == "~" then
    return M.normalise(home)
  elseif text:sub(1, 2) == "~/" then
    return M.join(home, text:sub(3))
  end
  return text
end

--- A sorted copy, outer paths before the paths in them: the order in which trees are mounted and granted.
---@param paths string[]
---@return string[]
function M.sort_by_depth(paths)
  local keyed = {}
  for i, text in ipairs(paths) do
    keyed[i] = { text = text, depth = #M.components(text) }
  end
  table.sort(keyed, function(a, b)
    if a.depth ~= b.depth then
      return a.depth < b.depth
    end
    return a.text < b.text
  end)
  local sorted = {}
  for i, entry in ipairs(keyed) do
    sorted[i] = entry.text
  end
  return sorted
end

return M
