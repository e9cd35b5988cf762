--- What plans ask of the disk, in the words of core: resolved paths, kinds, listings. The one place that reads while planning.

local core = require("procage.core")
local path = require("procage.path")

local M = {}

--- Where a path leads. What does not exist is named beneath its nearest ancestor that does, which is resolved: a link there
--- would otherwise lead a later file past its rule.
---@param name string  absolute
---@return string resolved
---@return boolean exists
function M.resolve(name)
  local text = path.normalise(name)
  local missing = ""
  while true do
    local resolved = core.real_path(text)
    if resolved then
      return path.normalise(resolved .. missing), missing == ""
    end
    local parent = path.parent(text)
    if not parent then
      return path.normalise(name), false
    end
    missing = "/" .. path.basename(text) .. missing
    text = parent
  end
end

--- A resolve() that remembers directories: plans ask for hundreds of names in a few of them. For one plan, while the disk is
--- looked at as it is now.
---@return fun(name: string): string, boolean, string?  the kind too, where it was looked at on the way
function M.resolver()
  local directories = {}
  local split = path.split
  local function resolve(name)
    local parent, base = split(name)
    if not parent then
      return M.resolve(name)
    end
    local known = directories[parent]
    if not known then
      local resolved, exists = resolve(parent)
      known = { path = resolved, prefix = resolved == "/" and "/" or resolved .. "/", exists = exists }
      directories[parent] = known
    end
    local target = known.prefix .. base
    local kind = known.exists and core.kind(target) or nil
    if kind == "link" then
      return M.resolve(name)
    end
    return target, kind ~= nil, kind
  end
  return function(name)
    local text = path.normalise(name)
    local known = directories[text]
    if known then
      return known.path, known.exists
    end
    return resolve(text)
  end
end

--- The same for a list of hundreds, absolute and each in its one spelling: where they lead, and what is there.
---@param names string[]
---@return string[] places
---@return (string|false)[] kinds  false: there is nothing
function M.resolve_all(names)
  return core.resolve_all(names, function(name)
    return M.resolve(name)
  end)
end

--- As path_resolution(7) has it; then the kernel answers ELOOP.
local MAX_LINKS = 40

--- Whether the way to `name`, each link on it followed, leads through one of `trees`; and whether one of those links stands in
--- them. Where commands write, a link is theirs: it would choose what is granted by the name.
---@param name string  absolute
---@param trees string[]  resolved
---@return boolean leads_through
---@return boolean by_link
function M.leads_through(name, trees)
  local at, ahead, links, through = "/", path.components(name), 0, false
  while #ahead > 0 do
    local component = table.remove(ahead, 1)
    local here = component == ".." and (path.parent(at) or "/") or path.join(at, component)
    local is_inside = path.resolved_tree_of(here, trees) ~= nil
    through = through or is_inside
    local target = component ~= ".." and M.kind(here) == "link" and core.read_link(here)
    if not target then
      at = here
    elseif is_inside and here ~= path.resolved_tree_of(here, trees) or links == MAX_LINKS then
      return true, true
    else
      links = links + 1
      at = path.is_absolute(target) and "/" or at
      local onward = path.components(target)
      table.move(ahead, 1, #ahead, #onward + 1, onward)
      ahead = onward
    end
  end
  return through, false
end

--- The kind of the name itself, a link not followed; nil when there is none.
---@param name string
---@return string?
function M.kind(name)
  return (core.kind(name))
end

--- The names in a directory, sorted, with their kinds. What cannot be listed has none: the command cannot list it either.
---@param name string
---@param limit? integer
---@param only_directories? boolean  and .git, whatever it is
---@return { name: string, kind: string }[]
---@return string? message  when it could not be listed
function M.list(name, limit, only_directories)
  local list, kinds, message = M.names(name, limit, only_directories)
  for i, entry in ipairs(list) do
    list[i] = { name = entry, kind = kinds[entry] }
  end
  return list, message
end

--- The same for directories of hundreds: no table for each.
---@param name string
---@param limit? integer
---@param only_directories? boolean
---@return string[] names  sorted
---@return table<string, string> kinds
---@return string? message  when it could not be listed
function M.names(name, limit, only_directories)
  local list, kinds = core.list_dir(name, limit, only_directories)
  if not list then
    return {}, {}, kinds
  end
  return list, kinds
end

--- Nothing that is read whole here is longer, unless a command wrote it.
local MAX_TEXT = 1 << 24

--- The text of a regular file, all of it. A command may have made it, so a link is not followed and a FIFO not waited for.
---@param name string
---@param limit? integer  bytes
---@return string? text
---@return string? message
function M.read(name, limit)
  limit = limit or MAX_TEXT
  local text, cut_or_message = core.read_file(name, limit)
  if not text then
    return nil, cut_or_message --[[@as string]]
  elseif cut_or_message then
    return nil, ("%s: longer than %d bytes"):format(name, limit)
  end
  return text
end

--- What tells one state of a name from another: identity, times and size, as bytes. nil when it does not exist.
---@param name string
---@return string?
function M.mark(name)
  return (core.mark(name))
end

return M
