--- Paths as text. Nothing here looks at a disk: `..` is never folded, for behind a symlink it means another place.

local M = {}

local find, match, sub = string.find, string.match, string.sub

--- What is asked most, in C. Where policy scripts run there is no module of it: who loads this one there hands it over.
local given = select(2, ...)
local core = type(given) == "table" and given or require("procage.core")

---@param text string
---@return boolean
function M.is_absolute(text)
  return sub(text, 1, 1) == "/"
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

--- Most paths are in their one spelling already: seen at a glance.
---@type fun(text: string): boolean
local is_normal = core.path_is_normal

--- One spelling for one path: no doubled or trailing slash, no `.`. A `..` stays: only the disk knows where it leads.
---@param text string
---@return string
function M.normalise(text)
  if is_normal(text) then
    return text
  end
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
  if not find(text, "..", 1, true) then
    return false
  end
  return find("/" .. text .. "/", "/../", 1, true) ~= nil
end

--- Absolute, in its one spelling, without `..`: what most paths of a profile are, seen at a glance.
---@type fun(text: string): boolean
M.is_plain = core.path_is_plain

--- `base` and the names below it; a later absolute part starts afresh, as in a shell's cd.
---@param base string
---@param part? string
---@param ... string
---@return string
function M.join(base, part, ...)
  local result = base
  if part then
    result = M.is_absolute(part) and part or (base .. "/" .. part)
  end
  if select("#", ...) > 0 then
    return M.join(result, ...)
  end
  return M.normalise(result)
end

--- The directory and the last name of a path that is absolute and in its one spelling; nil for the root.
---@type fun(text: string): string?, string?
M.split = core.path_split

--- The directory that holds `text`; nil for the root and for a single relative name.
---@param text string
---@return string?
function M.parent(text)
  return (M.split(M.normalise(text)))
end

--- The last name; `/` for the root.
---@param text string
---@return string
function M.basename(text)
  local normal = M.normalise(text)
  local _, name = M.split(normal)
  return name or normal
end

---@param inner string  in its one spelling, as `outer`
---@param outer string
---@return boolean
local function lies_in(inner, outer)
  return core.path_lies_in(inner, outer) and (outer ~= "/" or M.is_absolute(inner))
end

--- Whether `text` is `tree` or lies in it, name by name: /srv/ab is not beneath /srv/a.
---@param text string  absolute, resolved
---@param tree string  absolute, resolved
---@return boolean
function M.is_beneath(text, tree)
  return lies_in(M.normalise(text), M.normalise(tree))
end

--- The same for two paths that disk.resolve() gave: compared as they are, since plans ask this many thousand times.
---@type fun(text: string, tree: string): boolean
M.lies_in = core.path_lies_in

--- The first of `trees` that `text` lies in, all of them as disk.resolve() gave them.
---@type fun(text: string, trees: string[]): string?
M.resolved_tree_of = core.path_tree_of

--- The first of `trees` that `text` lies in.
---@param text string
---@param trees string[]
---@return string?
function M.tree_of(text, trees)
  local inner = M.normalise(text)
  for _, tree in ipairs(trees) do
    if lies_in(inner, M.normalise(tree)) then
      return tree
    end
  end
  return nil
end

--- Every directory above any of these absolute paths, all of them in their one spelling.
---@type fun(list: string[]): table<string, boolean>
M.holding = core.path_above

--- Those of `list` that lie in any of `trees`, `most` at most; all absolute and in their one spelling, as a valid profile has
--- them.
---@type fun(list: string[], trees: string[], most?: integer): string[]
M.beneath = core.path_beneath

---@param list string[]
---@param trees string[]
---@return boolean
function M.any_beneath(list, trees)
  return M.beneath(list, trees, 1)[1] ~= nil
end

--- Whether each of a list is plain, and no byte of it NUL.
---@type fun(list: string[]): boolean
M.are_plain = core.path_are_plain

--- The directories above an absolute path in its one spelling, the nearest first; without the root.
---@param text string
---@return string[]
function M.above(text)
  local list, at = {}, match(text, "^(.+)/")
  while at do
    list[#list + 1] = at
    at = match(at, "^(.+)/")
  end
  return list
end

--- The innermost key of `set` that `text` lies in: for thousands of paths, each climbs to its ancestors. All absolute and in
--- their one spelling.
---@param text string
---@param set table<string, any>
---@return string?
function M.tree_in(text, set)
  local at = text
  while at do
    if set[at] ~= nil then
      return at
    end
    at = match(at, "^(.+)/")
  end
  return set["/"] ~= nil and "/" or nil
end

--- `~` and `~/x` become paths in `home`. `~user` stays as it is: it needs the password file.
---@param text string
---@param home string
---@return string
function M.expand_home(text, home)
  if text == "~" then
    return M.normalise(home)
  elseif sub(text, 1, 2) == "~/" then
    return M.normalise(home .. sub(text, 2))
  end
  return text
end

--- The same of each entry of a list.
---@param list string[]
---@param home string
---@return string[]
function M.expand_homes(list, home)
  local expanded = {}
  for i, item in ipairs(list) do
    expanded[i] = M.expand_home(item, home)
  end
  return expanded
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

--- Those that lie in no other.
---@param trees string[]  resolved
---@return string[]
function M.outermost(trees)
  local kept = {}
  for _, tree in ipairs(M.sort_by_depth(trees)) do
    if not M.resolved_tree_of(tree, kept) then
      kept[#kept + 1] = tree
    end
  end
  return kept
end

return M
