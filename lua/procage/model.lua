--- What a run may do, told without running it: from the rules and lists that its plan is made of. `why` explains with it, and
--- spec/escape/why_spec.lua holds it against the kernel.
---
--- A view is made once (it reads the disk, as the plan does); `judge` is then pure: a view and an object in, a verdict out.
---
---     local view = model.view(fitted, host, survey)
---     local verdict = model.judge(view, "read", model.object(view, "read", "/srv/x"))
---
--- Not seen: access lists beyond the mode bits, security modules, file systems that the host has mounted read-only, and what a
--- command does to its own permissions.

local core = require("procage.core")
local disk = require("procage.disk")
local fold = require("procage.fold")
local grants = require("procage.grants")
local lists = require("procage.list")
local path = require("procage.path")
local tree = require("procage.tree")

---@alias procage.Operation "read"|"write"|"exec"|"connect"|"bind"

---@class procage.View
---@field fitted procage.Profile
---@field uses table<string, boolean>  mechanisms
---@field survey procage.Survey
---@field rules? { path: string, access: integer }[]  Landlock's; nil: files are held without it
---@field rights table
---@field masks string[]  what an empty mount lies over
---@field private_tmp boolean  whether /tmp is the run's own
---@field moves_handoff boolean  hand-off files that appear are moved out afterwards, not refused
---@field ids { uid: integer, groups: table<integer, boolean> }

---@class procage.Object
---@field kind "file"|"directory"|"socket"|"absent"|"other"|"abstract"|"inet"
---@field path? string  absolute, every link in it followed
---@field links? string[]  those on the way to it
---@field blocked? string  why what is absent cannot be made
---@field refused_by? string  a directory or the file itself whose mode bits refuse
---@field is_fifo? boolean
---@field name? string  of an abstract socket
---@field address? string
---@field port? integer

---@class procage.Verdict
---@field allowed boolean
---@field clause string  the clause that decides, or `permissions`, `exists`
---@field item? string  the entry of the profile that decides
---@field note? string  what else is to be known: what looks allowed and is not what it seems

local M = {}

---@type procage.Operation[]
M.operations = { "read", "write", "exec", "connect", "bind" }

local lies_in, tree_of = path.lies_in, path.resolved_tree_of

--- Who asks: the run has the caller's ids, and no capability to pass mode bits by.
local function own_ids()
  local status = disk.read("/proc/self/status") or ""
  local groups = {}
  for id in (status:match("\nGroups:([^\n]*)") or ""):gmatch("%d+") do
    groups[math.tointeger(tonumber(id))] = true
  end
  local _, gid = status:match("\nGid:%s*(%d+)%s+(%d+)")
  groups[math.tointeger(tonumber(gid or "0"))] = true
  return { uid = core.probe().uid, groups = groups }
end

---@param fitted procage.Profile
---@param host procage.Host
---@param survey procage.Survey  of this fitted profile
---@param report procage.Row[]
---@return procage.View
function M.view(fitted, host, survey, report)
  local uses = lists.set(fitted.mechanisms)
  local rights = grants.rights(core.landlock_bits().fs, host.landlock_abi)
  local masks = {}
  if uses["mask"] then
    for _, entry in ipairs(tree.to_mask(survey)) do
      masks[#masks + 1] = (entry.kind ~= "socket" or uses["socket-masks"]) and entry.path or nil
    end
  end
  local view = {
    fitted = fitted,
    uses = uses,
    survey = survey,
    rights = rights,
    rules = uses["landlock-fs"] and grants.each(grants.rules(fitted, survey, rights, uses["pidns"])) or nil,
    masks = masks,
    private_tmp = uses["private-tmp-mount"] or false,
    moves_handoff = true,
    ids = own_ids(),
  }
  for _, row in ipairs(report) do
    if row.clause == "handoff_absent" then
      view.moves_handoff = row.state ~= "enforced"
    end
  end
  return view
end

-- ---- Objects ----------------------------------------------------------------------------------------------------------------

local READ, WRITE, SEARCH = 4, 2, 1
local WANTED = { read = READ, write = WRITE, exec = SEARCH, connect = WRITE, bind = WRITE }

--- Whether mode bits let these ids in. Source: inode(7).
local function mode_allows(found, ids, bit)
  local shift = found.uid == ids.uid and 6 or ids.groups[found.gid] and 3 or 0
  return found.mode >> shift & bit ~= 0
end

--- The first directory on the way, or the object itself, whose mode bits refuse.
local function refused_by(name, ids, bit, found)
  local at, above = path.parent(name), {}
  while at do
    table.insert(above, 1, at)
    at = path.parent(at)
  end
  for _, directory in ipairs(above) do
    local entry = core.lstat(directory)
    if entry and not mode_allows(entry, ids, SEARCH) then
      return directory
    end
  end
  if found and not mode_allows(found, ids, bit) then
    return name
  end
  return nil
end

--- As path_resolution(7) has it; then the kernel answers ELOOP.
local MAX_LINKS = 40

--- Where a name leads, and by which links: the run must reach each of them.
---@param name string  absolute
---@return string resolved
---@return table? found  nil: there is nothing
---@return string[] links
local function follow(name)
  local at, ahead, links, found = "/", path.components(name), {}, core.lstat("/")
  while #ahead > 0 do
    local component = table.remove(ahead, 1)
    local from = component == ".." and core.lstat(at)
    if component == ".." and not (from and from.kind == "directory") then
      -- There is no way back from what is no directory.
      return at .. "/..", nil, links
    end
    local here = component == ".." and (path.parent(at) or "/") or path.join(at, component)
    found = core.lstat(here)
    local target = found and found.kind == "link" and #links < MAX_LINKS and core.read_link(here)
    if target then
      links[#links + 1] = here
      at = path.is_absolute(target) and "/" or at
      local onward = path.components(target)
      ahead = table.move(ahead, 1, #ahead, #onward + 1, onward)
    else
      at = here
    end
  end
  return at, found, links
end

---@param ids table
---@param op procage.Operation
---@param name string  absolute
---@return procage.Object
local function file_object(ids, op, name)
  local resolved, found, links = follow(name)
  -- More links than the kernel follows lead nowhere.
  local blocked
  if found and found.kind == "link" then
    found, blocked = nil, "the links that lead there lead in a circle"
  end
  local kind = found and found.kind or "absent"
  if kind ~= "file" and kind ~= "directory" and kind ~= "socket" and kind ~= "absent" then
    kind = "other"
  end
  local bit = WANTED[op]
  if found then
    if kind == "directory" and op == "write" then
      bit = WRITE | SEARCH
    end
    return {
      kind = kind,
      path = resolved,
      links = links,
      is_fifo = found.kind == "fifo" or nil,
      refused_by = refused_by(resolved, ids, bit, found),
    }
  end
  -- To make it takes its directory, or the nearest above it that is there.
  local parent = path.parent(resolved) or "/"
  local above = core.lstat(parent)
  while not above and parent ~= "/" do
    parent = path.parent(parent) or "/"
    above = core.lstat(parent)
  end
  return {
    kind = kind,
    path = resolved,
    links = links,
    blocked = blocked or above and above.kind ~= "directory" and parent .. " is no directory" or nil,
    refused_by = refused_by(parent, ids, WRITE, above),
  }
end

---@param target string
---@return string? address
---@return integer? port
local function inet(target)
  local address, port = target:match("^%[([%x:.]+)%]:(%d+)$")
  if not address then
    address, port = target:match("^([%w.-]*):(%d+)$")
  end
  if not port then
    address, port = "", target:match("^%d+$")
  end
  port = port and math.tointeger(tonumber(port))
  if port and port <= 65535 then
    return address, port
  end
  return nil
end

--- What an operation is about. Reads the disk.
---@param view procage.View
---@param op procage.Operation
---@param target string  an absolute path; for connect and bind also @NAME, PORT, ADDRESS:PORT, [ADDRESS]:PORT
---@return procage.Object? object
---@return string? message
function M.object(view, op, target)
  if not WANTED[op] then
    return nil, ("%s: expected one of %s"):format(op, table.concat(M.operations, ", "))
  elseif path.is_absolute(target) then
    return file_object(view.ids, op, path.normalise(target))
  elseif op == "connect" or op == "bind" then
    if target:sub(1, 1) == "@" then
      return { kind = "abstract", name = target:sub(2) }
    end
    local address, port = inet(target)
    if port and address:find("[%a_]") and not address:find(":") and address ~= "localhost" then
      local text = "%s %s: a name stands for addresses that nobody has looked up: expected ADDRESS:PORT or PORT"
      return nil, text:format(op, target)
    elseif port then
      return { kind = "inet", address = address, port = port }
    end
    return nil, ("%s %s: expected a path, @NAME, PORT, ADDRESS:PORT or [ADDRESS]:PORT"):format(op, target)
  end
  return nil, ("%s %s: expected an absolute path"):format(op, target)
end

-- ---- Files ------------------------------------------------------------------------------------------------------------------

---@return procage.Verdict
local function yes(clause, item, note)
  return { allowed = true, clause = clause, item = item, note = note }
end

---@return procage.Verdict
local function no(clause, item, note)
  return { allowed = false, clause = clause, item = item, note = note }
end

--- What Landlock's rules give at a path: those on it and on every directory above.
local function access_at(view, name)
  local access = 0
  for _, rule in ipairs(view.rules) do
    if type(rule.path) == "string" and lies_in(name, rule.path) then
      access = access | rule.access
    end
  end
  return access
end

--- The hidden entry that a path lies in.
---@return procage.Hidden?
local function hidden_at(view, name)
  for _, entry in ipairs(view.survey.hidden) do
    if lies_in(name, entry.path) then
      return entry
    end
  end
  return nil
end

--- Hidden is held by a mask over what exists, and by Landlock wherever no writable tree grants it.
local function is_hidden(view, name)
  return tree_of(name, view.masks) ~= nil or view.rules ~= nil and not tree_of(name, view.survey.write)
end

--- A place of the host that the run's own directory lies over.
local function covered_at(view, name)
  local survey = view.survey
  if tree_of(name, survey.write) or tree_of(name, survey.put_back) then
    return nil
  end
  return tree_of(name, survey.covered)
end

--- What is left of a covered directory: with mounts the run's own, else nothing but TMPDIR.
local function judge_covered(view, op, object, covered)
  if not view.private_tmp then
    return no("tmp", covered, "only TMPDIR is there for temporary files")
  end
  local survey = view.survey
  for _, list in ipairs({ survey.write, survey.put_back }) do
    for _, put in ipairs(list) do
      if object.path ~= covered and lies_in(put, object.path) then
        -- A stand-in for the host's directory, on the way to what was put back.
        return op == "read" and yes("tmp", covered) or no("tmp", covered, "only what was put back lies beneath it")
      end
    end
  end
  if op == "write" or op == "bind" or object.path == covered and op == "read" then
    -- A directory that is the host's alone holds nothing here.
    local parent = object.path == covered and covered or path.parent(object.path)
    if parent == covered or op == "read" then
      return yes("tmp", covered, ("the run's own %s, removed with it"):format(covered))
    end
  end
  return no("tmp", covered, ("the run has a %s of its own: the host's is not there"):format(covered))
end

local function judge_device(view, op, name)
  local node = name:match("^/dev/([^/]+)$")
  if name == "/dev" then
    return op == "read" and yes("read", "/dev") or no("write")
  elseif op ~= "exec" and node and lists.set(grants.devices)[node] then
    return yes("read", name)
  elseif (name == "/dev/ptmx" or lies_in(name, "/dev/pts")) and view.uses["mount-tree"] then
    return op ~= "exec" and yes("read", name, "the run's own pseudo-terminals") or no("read", name)
  end
  return no("read", "/dev", "device nodes but " .. table.concat(grants.devices, ", ") .. " are closed")
end

local function judge_proc(view, op, name)
  if lists.set(view.survey.kernel_memory)[name] and view.uses["mount-tree"] then
    return no("read", name, "it shows the kernel's memory")
  elseif op == "read" and view.fitted.read ~= "all" and not tree_of("/proc", view.fitted.read) then
    return no("read")
  elseif op == "read" then
    return yes("signals", "/proc", view.uses["pidns"] and "the run's own /proc: its own processes alone" or nil)
  end
  return no("write", "/proc", "no write grant beneath /proc, ever")
end

--- Which clause keeps an existing path in a writable tree as it is.
local function protecting_clause(view, name)
  for _, wanted in ipairs(view.fitted.read_only) do
    local parent = disk.resolve(path.parent(wanted) or "/")
    if lies_in(name, path.join(parent, path.basename(wanted))) or lies_in(name, (disk.resolve(wanted))) then
      return "read_only", wanted
    end
  end
  for _, root in ipairs(view.survey.watch.roots) do
    local inside = lies_in(name, root) and fold(name:sub(#root + 2))
    for _, known in ipairs(inside and view.survey.watch.names or {}) do
      if known ~= ".git" and (inside == known:lower() or inside:sub(1, #known + 1) == known:lower() .. "/") then
        return "handoff", known
      end
    end
  end
  return "git", nil
end

--- A name that others would run, not there yet.
local function is_handoff_name(view, name)
  for _, root in ipairs(view.survey.watch.roots) do
    local inside = lies_in(name, root) and fold(name:sub(#root + 2))
    for _, known in ipairs(inside and view.survey.watch.names or {}) do
      if inside == known:lower() then
        return known
      end
    end
  end
  return nil
end

--- A copy of a hidden file that lies beside it is as closed as the file.
local function hidden_copy(view, name)
  local parent, own = path.parent(name), path.basename(name)
  for _, entry in ipairs(view.survey.hidden) do
    local known = path.basename(entry.path)
    if entry.kind == "file" and path.parent(entry.path) == parent and #own > #known and own:sub(1, #known) == known then
      return entry
    end
  end
  return nil
end

--- The right that Landlock asks for at the object, and the place whose rules count.
local function needed(view, op, object)
  local by_name = view.rights.by_name
  if op == "read" then
    return object.kind == "directory" and by_name.READ_DIR or by_name.READ_FILE, object.path
  elseif op == "exec" then
    return by_name.EXECUTE, object.path
  elseif op == "bind" then
    return by_name.MAKE_SOCK, path.parent(object.path) or "/"
  elseif object.kind == "directory" then
    return by_name.MAKE_REG, object.path
  elseif object.kind == "absent" then
    return by_name.MAKE_REG, path.parent(object.path) or "/"
  end
  return by_name.WRITE_FILE, object.path
end

--- Whether a name stands in a directory of the run's own making, in which no FIFO is.
local function lies_in_stand_in(view, put_back, name)
  local parent = path.parent(name)
  for _, entry in ipairs(view.survey.stand_ins[put_back] or {}) do
    if entry.kind == "stand-in" and entry.path == parent then
      return true
    end
  end
  return false
end

--- A FIFO is written past a read-only mount, and what is put back below the run's own /tmp lies under Landlock's grant of that:
--- only a mask closes one there, over those that were found.
local function is_open_fifo(view, op, object)
  local put_back = op == "write" and object.is_fifo and view.private_tmp and tree_of(object.path, view.survey.put_back)
  return put_back and not tree_of(object.path, view.masks) and not lies_in_stand_in(view, put_back, object.path)
end

local function judge_write(view, op, object)
  local survey, name = view.survey, object.path
  if is_open_fifo(view, op, object) then
    return yes("write", name, "a FIFO below the run's own /tmp that was not found when the run began: see the report")
  end
  local place = object.kind == "absent" and path.parent(name) or name
  local trees = tree_of(name, survey.write)
  if not trees or not tree_of(place, survey.write) then
    return no("write")
  end
  local kept = view.uses["bind-read-only"] and (tree_of(name, survey.protected) or tree_of(place, survey.protected))
  if kept then
    return no(protecting_clause(view, name))
  end
  local handoff = object.kind == "absent" and is_handoff_name(view, name)
  if handoff and not view.moves_handoff then
    return no("handoff_absent", handoff)
  elseif handoff then
    return yes("write", trees, ("%s is a hand-off name: moved out of the tree when the run is over"):format(handoff))
  elseif op == "bind" and view.uses["seccomp-no-unix"] then
    return no("sockets", nil, "no Unix sockets can be made on this host but pairs")
  end
  return yes("write", trees)
end

--- Why no rule grants it.
local function closed_by(view, op, name)
  local copy = hidden_copy(view, name)
  if copy then
    return no("hidden", copy.via or copy.path, "a copy of a hidden file is closed with it")
  elseif op == "read" or op == "exec" then
    return no("read")
  end
  return no("write")
end

--- A rule gives the right to list to everything beneath it, and no deeper rule takes it away: only a mount hides names.
local function judge_listing(view, object, hidden)
  if access_at(view, object.path) & view.rights.by_name.READ_DIR == 0 then
    return no("read")
  elseif object.refused_by then
    return no("permissions", object.refused_by, "the mode bits refuse, whatever the policy says")
  elseif hidden then
    return yes("stat", hidden.via or hidden.path, "its names can be listed on this host, nothing in it read: see the gaps")
  end
  return yes("read")
end

---@return procage.Verdict
local function judge_file(view, op, object)
  local name = object.path
  if path.has_parent_step(name) then
    return no("exists", nil, "a directory on the way is missing, and there is no way back from it")
  elseif object.blocked then
    return no("exists", nil, object.blocked)
  end
  local hidden = hidden_at(view, name)
  if op == "read" and object.kind == "directory" and view.rules and not view.uses["mount-tree"] then
    return judge_listing(view, object, hidden)
  end
  if hidden and is_hidden(view, name) then
    return no("hidden", hidden.via or hidden.path)
  end
  if view.uses["mask"] and lists.set(view.survey.ignored)[name] then
    local note = "git ignores it, and it looks like a credential: it reads as empty"
    return op == "read" and yes("ignored", name, note) or no("ignored", name, note)
  end
  local covered = covered_at(view, name)
  if covered then
    return judge_covered(view, op, object, covered)
  elseif lies_in(name, "/dev") and not tree_of(name, view.survey.write) then
    return judge_device(view, op, name)
  elseif lies_in(name, "/proc") then
    return judge_proc(view, op, name)
  elseif object.kind == "absent" and (op == "read" or op == "exec") then
    return no("exists", nil, "there is no such file")
  end
  local writes = op == "write" or op == "bind"
  if writes then
    local verdict = judge_write(view, op, object)
    if not verdict.allowed then
      return verdict
    end
  end
  if view.rules and not is_open_fifo(view, op, object) then
    local right, place = needed(view, op, object)
    if access_at(view, place) & right == 0 then
      return closed_by(view, op, name)
    end
  end
  if object.refused_by then
    return no("permissions", object.refused_by, "the mode bits refuse, whatever the policy says")
  elseif writes then
    return judge_write(view, op, object)
  end
  return yes("read", hidden and (hidden.via or hidden.path), hidden and "hidden, and this host cannot hide it: see the gaps")
end

-- ---- Sockets and the network ------------------------------------------------------------------------------------------------

---@return procage.Verdict
local function judge_socket(view, object)
  local uses, survey = view.uses, view.survey
  local hidden = hidden_at(view, object.path)
  if hidden and (uses["mediated-connect"] or is_hidden(view, object.path)) then
    return no("hidden", hidden.via or hidden.path)
  end
  local covered = covered_at(view, object.path)
  if covered then
    return no("tmp", covered, ("the run has a %s of its own: the host's is not there"):format(covered))
  elseif object.kind == "absent" then
    return no("exists", nil, "there is no such socket")
  elseif object.kind ~= "socket" then
    return no("exists", nil, "it is no socket")
  elseif uses["seccomp-no-unix"] then
    return no("sockets", nil, "no Unix sockets can be made on this host but pairs")
  end
  local reach = tree_of(object.path, survey.reach) or tree_of(object.path, view.fitted.sockets)
  if not reach and uses["mediated-connect"] and uses["socket-masks"] and not tree_of(object.path, view.masks) then
    reach = tree_of(object.path, survey.write)
  end
  if not reach and (uses["landlock-unix"] or uses["mediated-connect"] or tree_of(object.path, view.masks)) then
    return no("sockets")
  elseif object.refused_by then
    return no("permissions", object.refused_by, "the mode bits refuse, whatever the policy says")
  end
  return yes("sockets", reach)
end

local function is_loopback(address)
  return address == "" or address == "localhost" or address == "::1" or address:find("^127%.") ~= nil
end

local function is_wildcard(address)
  return address == "0.0.0.0" or address == "::"
end

local function has_port(network, port)
  for _, known in ipairs(network.ports) do
    if known == port then
      return true
    end
  end
  return false
end

--- Whose loopback it is depends on the mechanism.
---@return procage.Verdict
local function judge_loopback(view, op, object)
  local is_shared = view.uses["mediated-loopback"]
  if op == "bind" and not is_shared then
    return yes("network", "loopback", view.uses["netns-join"]
      and "on a loopback that the runs of this policy have in common: nobody else reaches it"
      or "on the run's own loopback: nobody outside reaches it")
  elseif op == "bind" and (is_loopback(object.address) or is_wildcard(object.address)) then
    return yes("network", "loopback", "on the host's loopback, TCP only: other programs of this machine reach it")
  elseif op == "bind" or not is_loopback(object.address) then
    return no("network", "loopback")
  elseif not is_shared then
    return yes("network", "loopback", view.uses["netns-join"]
      and "a loopback that the runs of this policy have in common: servers of the host are not there"
      or "the run's own loopback: servers of the host are not there")
  elseif view.fitted.loopback == "host" then
    return yes("network", "loopback", "the host's loopback, TCP only")
  end
  return yes("network", "loopback", "only to servers that the run itself has started, TCP only")
end

--- The network as it is held: what fit tightened is `none` here already.
---@return procage.Verdict
local function judge_inet(view, op, object)
  local network = view.fitted.network
  if network == "all" then
    return yes("network", "all")
  elseif network == "none" then
    return no("network", "none")
  elseif network == "loopback" then
    return judge_loopback(view, op, object)
  elseif op == "connect" and has_port(network, object.port) then
    return yes("network", tostring(object.port))
  end
  return no("network", table.concat(network.ports, ", "))
end

---@return procage.Verdict
local function judge_abstract(view, op)
  if view.uses["seccomp-no-unix"] then
    return no("abstract", nil, "no Unix sockets can be made on this host but pairs")
  elseif op == "bind" then
    return yes("abstract")
  end
  return no("abstract", nil, "abstract sockets of programs outside are never reached")
end

--- A link that lies under a mask, or where the run has a directory of its own, is not there to be followed.
---@return procage.Verdict?
local function judge_links(view, object)
  for _, link in ipairs(object.links or {}) do
    local hidden = hidden_at(view, link)
    local covered = view.private_tmp and covered_at(view, link)
    if hidden and tree_of(link, view.masks) then
      return no("hidden", hidden.via or hidden.path, ("the way leads through the link %s"):format(link))
    elseif covered then
      return no("tmp", covered, ("the way leads through the link %s, which is not in the run's own %s"):format(link, covered))
    end
  end
  return nil
end

--- Whether a run could do it, and what decides. Pure but for links in the profile's own read-only paths.
---@param view procage.View
---@param op procage.Operation
---@param object procage.Object
---@return procage.Verdict
function M.judge(view, op, object)
  if view.fitted.unconfined then
    return object.refused_by and no("permissions", object.refused_by) or yes("off", view.fitted.unconfined)
  elseif object.kind == "inet" then
    return judge_inet(view, op, object)
  elseif object.kind == "abstract" then
    return judge_abstract(view, op)
  end
  local closed = judge_links(view, object)
  if closed then
    return closed
  elseif op == "connect" then
    return judge_socket(view, object)
  end
  return judge_file(view, op, object)
end

--- Whether a run could do it: true or false, and the verdict.
---@param view procage.View
---@param op procage.Operation
---@param target string  as `object` takes it
---@return boolean? allowed  nil: the target is none
---@return procage.Verdict|string verdict  or the message
function M.allows(view, op, target)
  local object, message = M.object(view, op, target)
  if not object then
    return nil, message --[[@as string]]
  end
  local verdict = M.judge(view, op, object)
  return verdict.allowed, verdict
end

return M
