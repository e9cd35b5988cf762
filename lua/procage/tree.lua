--- The mounts of a run: the whole tree read-only, the writable places put back, protected ones carved out of them, hidden
--- ones masked, and /dev, /proc and the temporary directories the run's own.
---
--- The order matters. Copies of what is put back are taken first, while they are still writable; a mask comes last, so that
--- nothing is put over it.

local disk = require("procage.disk")
local grants = require("procage.grants")
local path = require("procage.path")

local M = {}

-- Source: mount_setattr(2).
local RDONLY, NOSUID, NODEV, NOEXEC = 0x1, 0x2, 0x4, 0x8

--- No right comes from a file in any tree: no device is opened, no set-user-ID bit counts. Nor do file capabilities, and that
--- lets more start: where they counted, a program that has some (`setcap` on a node that listens on port 80) would fail with
--- EPERM for want of them in the bounding set. Source: capabilities(7), "Safety checking for capability-dumb binaries".
local POWERLESS = NOSUID | NODEV

--- Copies waiting to be attached take a slot each.
local SLOTS = 64

---@class procage.TreeWriter
local Writer = {}
Writer.__index = Writer

---@param flat procage.Flat
---@param has_setattr boolean  mount_setattr(2), Linux 5.12
local function new_writer(flat, has_setattr)
  return setmetatable({ flat = flat, has_setattr = has_setattr, free = {}, next_slot = 0, pinned = {} }, Writer)
end

function Writer:take_slot()
  local slot = table.remove(self.free)
  if not slot then
    slot = self.next_slot
    self.next_slot = slot + 1
    if slot >= SLOTS then
      error({ message = "more than 64 writable trees: name their common parents instead" })
    end
  end
  return slot
end

--- A copy of the tree at `from`, to be attached later.
function Writer:clone(from, optional)
  local slot = self:take_slot()
  self.flat:add("tree_clone", { a = from, slot = slot, optional = optional })
  return slot
end

function Writer:attach(slot, at, optional)
  self.flat:add("tree_attach", { a = at, slot = slot, optional = optional })
  self.free[#self.free + 1] = slot
end

--- A read-only copy of `from` over `at`; with `attributes` also nosuid and the like. `optional`: nothing where `at` is gone, or
--- lies behind a directory that the run may not search.
function Writer:bind_read_only(from, at, attributes, optional)
  local slot = self:clone(from, optional and from == at)
  if self.has_setattr then
    self.flat:add("tree_set", { slot = slot, value = RDONLY | (attributes or 0) })
    self:attach(slot, at, optional)
  else
    self:attach(slot, at, optional)
    self.flat:add("remount_read_only", { a = at, optional = optional })
  end
end

--- Everything read-only, and no device node in it leads to a device: a tree that was made to be another system's root has
--- nodes of its own, and root's runs own them. Before mount_setattr each mount is remounted by name.
function Writer:read_only_root(mounts)
  if self.has_setattr then
    self.flat:add("mount_set", { a = "/", value = RDONLY | POWERLESS, recursive = true })
    return
  end
  local seen = {}
  for i = #mounts, 1, -1 do
    local point = mounts[i].point
    -- Only the topmost mount at a point can be reached by its name.
    if not seen[point] then
      seen[point] = true
      self.flat:add("remount_read_only", { a = point })
    end
  end
end

--- A directory or a file for a mount to stand on, in a temporary directory of the run's own, with the directories above it.
function Writer:make_point(target, kind, covered)
  -- The run's own /dev has nothing but what was made in it.
  local root = path.resolved_tree_of(target, covered) or path.lies_in(target, "/dev") and "/dev"
  if not root or root == target then
    return
  end
  local at = root
  local names = path.components(target:sub(#root + 1))
  for i, name in ipairs(names) do
    at = path.join(at, name)
    if i == #names and kind ~= "directory" then
      self.flat:add("make_file", { a = at, value = 384 }) -- 0600
    else
      -- The directories on the way are stand-ins for the host's: what was written beside the tree would be gone with the run,
      -- so it is refused, as it would be there.
      self.flat:add("make_dir", { a = at, value = 365 }) -- 0555
    end
  end
end

--- Copies of the device nodes, taken before the run's own /dev lies over them.
function Writer:clone_devices()
  local slots = {}
  for _, name in ipairs(grants.devices) do
    if disk.kind("/dev/" .. name) then
      slots[#slots + 1] = { name = name, slot = self:clone("/dev/" .. name) }
    end
  end
  return slots
end

local DEVICE_LINKS = {
  { "fd", "/proc/self/fd" },
  { "stdin", "/proc/self/fd/0" },
  { "stdout", "/proc/self/fd/1" },
  { "stderr", "/proc/self/fd/2" },
}

function Writer:make_dev(devices, shm, has_devpts)
  self.flat:add("tmpfs", { a = "/dev", b = "mode=0755,size=64k,nr_inodes=256" })
  for _, device in ipairs(devices) do
    self.flat:add("make_file", { a = "/dev/" .. device.name, value = 438 }) -- 0666
    self:attach(device.slot, "/dev/" .. device.name)
  end
  for _, link in ipairs(DEVICE_LINKS) do
    self.flat:add("make_link", { a = "/dev/" .. link[1], b = link[2] })
  end
  if has_devpts then
    self.flat:add("make_dir", { a = "/dev/pts", value = 493 })
    self.flat:add("devpts", { a = "/dev/pts" })
    self.flat:add("make_link", { a = "/dev/ptmx", b = "pts/ptmx" })
  end
  if shm then
    self.flat:add("make_dir", { a = "/dev/shm", value = 448 })
    self:attach(shm, "/dev/shm")
  end
  -- What masks are made of: an empty directory, a file that may not be opened, and one that reads as empty.
  self.flat:add("make_dir", { a = "/dev/.mask", value = 365 }) -- 0555
  self.flat:add("make_dir", { a = "/dev/.mask/directory", value = 365 })
  self.flat:add("make_file", { a = "/dev/.mask/file", value = 0 })
  self.flat:add("make_file", { a = "/dev/.mask/empty", value = 292 }) -- 0444
end

function Writer:mask(target, kind, optional)
  local from = kind == "directory" and "/dev/.mask/directory" or "/dev/.mask/file"
  self:bind_read_only(from, target, POWERLESS | NOEXEC, optional)
end

--- A mount point cannot be renamed; nor can the directories above it, up to the writable tree, when each is one too. Renamed
--- away, they would take it with them and leave its name free, to this run or, what was hidden at that name, to the next.
function Writer:pin_above(target, tree)
  local above, at = {}, path.parent(target)
  while at and at ~= tree and path.lies_in(at, tree) do
    table.insert(above, 1, at)
    at = path.parent(at)
  end
  for _, directory in ipairs(above) do
    if not self.pinned[directory] then
      self.pinned[directory] = true
      self:attach(self:clone(directory, true), directory, true)
    end
  end
end

function Writer:carve(protected, survey)
  for _, target in ipairs(protected) do
    local tree = path.resolved_tree_of(target, survey.write)
    self:pin_above(target, tree)
    if not self.pinned[target] and target ~= tree then
      self.pinned[target] = true
      if survey.links[target] then
        -- A mount of the link itself: there is nothing in it to write, and its name stays.
        self.flat:add("pin_link", { a = target })
      else
        -- The host may see what the run's user cannot reach: another user's private directory in the workspace.
        self:bind_read_only(target, target, nil, true)
      end
    end
  end
end

--- Files that read as empty, and stay: a name that is a mount point is neither removed nor replaced by the command. One that
--- the run's user cannot reach is passed over: no mount is needed there.
---@param survey procage.Survey
function Writer:blank(survey)
  for _, target in ipairs(survey.ignored) do
    local tree = path.resolved_tree_of(target, survey.write)
    if tree then
      self:pin_above(target, tree)
    end
    self:bind_read_only("/dev/.mask/empty", target, POWERLESS | NOEXEC, true)
  end
end

--- Masks, but not one beneath another, and none on what a private directory covers unless it was put back.
---@param survey procage.Survey
---@return { path: string, kind: string }[]  kind: of what is hidden, or "socket" or "fifo"
function M.to_mask(survey)
  local visible = {}
  for _, list in ipairs({ survey.put_back, survey.write }) do
    table.move(list, 1, #list, #visible + 1, visible)
  end
  local function is_covered(target)
    return path.resolved_tree_of(target, survey.covered) and not path.resolved_tree_of(target, visible)
  end
  local list, masked, is_masked = {}, {}, {}
  for _, entry in ipairs(survey.hidden) do
    if entry.kind and entry.kind ~= "link" and not is_covered(entry.path) then
      list[#list + 1] = { path = entry.path, kind = entry.kind }
      masked[#masked + 1], is_masked[entry.path] = entry.path, true
    end
  end
  local outer = {}
  for _, entry in ipairs(list) do
    local above = path.parent(entry.path)
    if not (above and path.tree_in(above, is_masked)) and not path.lies_in(entry.path, "/dev") then
      outer[#outer + 1] = entry
    end
  end
  for _, name in ipairs(survey.sockets) do
    if not is_covered(name) and not path.resolved_tree_of(name, masked) and not path.lies_in(name, "/dev") then
      outer[#outer + 1] = { path = name, kind = "socket" }
    end
  end
  for _, entry in ipairs(survey.pipes) do
    if not path.resolved_tree_of(entry.path, masked) then
      outer[#outer + 1] = entry
    end
  end
  return outer
end

---@param flat procage.Flat
---@param profile procage.Profile
---@param survey procage.Survey
---@param host procage.Host
---@param uses table<string, boolean>
---@param run_text table
---@param rights table?  Landlock rights, when rules are made
function M.write(flat, profile, survey, host, uses, run_text, rights)
  local writer = new_writer(flat, host.mount_setattr)
  local covers = uses["private-tmp-mount"] and survey.covered or {}
  flat:add("mount_private")

  local writable, readable, cover = {}, {}, {}
  for _, tree in ipairs(survey.write) do
    local slot = writer:clone(tree)
    writable[#writable + 1] = { path = tree, slot = slot }
    -- A device that is named itself is meant.
    if host.mount_setattr and survey.kinds[tree] ~= "device" then
      flat:add("tree_set", { slot = slot, value = POWERLESS })
    end
  end
  for _, tree in ipairs(covers ~= survey.covered and {} or survey.put_back) do
    readable[#readable + 1] = { path = tree, slot = writer:clone(tree) }
  end
  local sources = { ["/tmp"] = run_text.tmp, ["/var/tmp"] = run_text.var_tmp, ["/dev/shm"] = run_text.shm }
  for _, name in ipairs(covers) do
    cover[#cover + 1] = { path = name, slot = writer:clone(sources[name]) }
  end
  local devices = writer:clone_devices()

  writer:read_only_root(survey.mounts)
  local shm
  for _, entry in ipairs(cover) do
    if entry.path == "/dev/shm" then
      shm = entry.slot
    else
      writer:attach(entry.slot, entry.path)
    end
  end
  writer:make_dev(devices, shm, host.devpts)
  M.put_back(writer, readable, writable, covers, survey)
  writer:carve(uses["bind-read-only"] and survey.protected or {}, survey)
  if uses["mask"] then
    writer:blank(survey)
    for _, entry in ipairs(M.to_mask(survey)) do
      local tree = path.resolved_tree_of(entry.path, survey.write)
      if tree then
        writer:pin_above(entry.path, tree)
      end
      -- In a writable tree an earlier run may have closed the directory above; nothing outside is the command's to reopen. A
      -- socket in a directory of another user's, in a shared /tmp, is beyond the command anyway.
      writer:mask(entry.path, entry.kind, not tree or entry.kind == "socket")
    end
  end
  if uses["pidns"] then
    flat:add("proc", { a = "/proc" })
    for _, name in ipairs(survey.kernel_memory) do
      writer:mask(name, "file")
    end
  end
  M.late_rules(flat, profile, host, uses, covers, rights)
  writer:attach(writer:clone("/dev/.mask/directory"), "/dev/.mask")
  M.close_dev(writer)
end

--- Outer trees first, so that an inner one lies on top.
local function by_depth(readable, writable)
  local entries = {}
  for _, entry in ipairs(readable) do
    entries[#entries + 1] = { path = entry.path, slot = entry.slot, is_readable = true }
  end
  table.move(writable, 1, #writable, #entries + 1, entries)
  table.sort(entries, function(a, b)
    local depth_a, depth_b = #path.components(a.path), #path.components(b.path)
    if depth_a ~= depth_b then
      return depth_a < depth_b
    end
    return a.path < b.path
  end)
  return entries
end

--- The directories in the run's own /tmp on the way to what is put back, kept from being moved away or written to: the run owns
--- them, and what is closed is told by its path.
function Writer:seal(points, covers)
  local is_sealed = {}
  for _, point in ipairs(points) do
    local root = path.resolved_tree_of(point, covers)
    local top = root and path.join(root, (point:sub(#root + 2):match("^[^/]+")))
    if top and top ~= point and not is_sealed[top] then
      is_sealed[top] = true
      self:bind_read_only(top, top, POWERLESS | NOEXEC)
    end
  end
end

--- A readable tree loses the right to write on the way; before mount_setattr each mount in it by its name.
function Writer:attach_read_only(slot, from, at, mounts)
  if self.has_setattr then
    self.flat:add("tree_set", { slot = slot, value = RDONLY | POWERLESS })
  end
  self:attach(slot, at)
  if not self.has_setattr then
    self.flat:add("remount_read_only", { a = at })
    for _, mount in ipairs(mounts) do
      if mount.point ~= from and path.lies_in(mount.point, from) then
        self.flat:add("remount_read_only", { a = at .. mount.point:sub(#from + 1), optional = true })
      end
    end
  end
end

--- A directory of the run's in place of a tree: what is granted in it is mounted there entry by entry; nothing else is there.
---@param entry { path: string, slot: integer }
---@param stand_in procage.StandIn[]
---@param inside { path: string }[]  writable trees in it, attached later
function Writer:stand_in(entry, stand_in, inside, survey)
  self.staged = (self.staged or 0) + 1
  local staging = "/dev/.mask/staged-" .. self.staged
  self.flat:add("make_dir", { a = staging, value = 448 })
  self:attach_read_only(entry.slot, entry.path, staging, survey.mounts)

  local nodes = 2 * #stand_in + 256 + 32 * #inside
  self.flat:add("tmpfs", { a = entry.path, b = ("mode=%04o,size=64k,nr_inodes=%d"):format(stand_in[1].mode, nodes) })
  local is_made = {}
  for i, each in ipairs(stand_in) do
    is_made[each.path] = true
    if each.kind == "link" then
      self.flat:add("make_link", { a = each.path, b = each.target })
    elseif each.kind == "file" then
      self.flat:add("make_file", { a = each.path, value = 256 }) -- 0400
    elseif i > 1 then
      self.flat:add("make_dir", { a = each.path, value = each.mode or 448 }) -- 0700
    end
  end
  for _, tree in ipairs(inside) do
    if not is_made[tree.path] then
      self:make_point(tree.path, survey.kinds[tree.path] or "directory", { entry.path })
    end
    is_made[tree.path] = "writable"
  end
  if self.has_setattr then
    self.flat:add("mount_set", { a = entry.path, value = RDONLY })
  else
    self.flat:add("remount_read_only", { a = entry.path })
  end
  for _, each in ipairs(stand_in) do
    if (each.kind == "file" or each.kind == "directory") and is_made[each.path] ~= "writable" then
      local slot = self:take_slot()
      self.flat:add("tree_clone", { a = staging .. each.path:sub(#entry.path + 1), slot = slot, fleeting = true })
      self.flat:add("tree_attach", { a = each.path, slot = slot, fleeting = true })
      self.free[#self.free + 1] = slot
    end
  end
end

function M.put_back(writer, readable, writable, covers, survey)
  local entries, points = by_depth(readable, writable), {}
  for _, entry in ipairs(entries) do
    -- Inside a tree that was put back the point is there already.
    local done = false
    for _, other in ipairs(entries) do
      done = done or (other ~= entry and path.lies_in(entry.path, other.path))
    end
    if not done then
      writer:make_point(entry.path, survey.kinds[entry.path] or "directory", covers)
      points[#points + 1] = entry.path
    end
  end
  writer:seal(points, covers)
  for _, entry in ipairs(entries) do
    local stand_in = entry.is_readable and survey.stand_ins[entry.path]
    if stand_in then
      local inside = {}
      for _, other in ipairs(writable) do
        inside[#inside + 1] = path.lies_in(other.path, entry.path) and other or nil
      end
      writer:stand_in(entry, stand_in, inside, survey)
    elseif entry.is_readable then
      writer:attach_read_only(entry.slot, entry.path, entry.path, survey.mounts)
    else
      writer:attach(entry.slot, entry.path)
    end
  end
end

--- File systems that this child mounts did not exist when the ruleset was made.
function M.late_rules(flat, profile, host, uses, covers, rights)
  if not rights then
    return
  end
  if uses["pidns"] and (profile.read == "all" or path.resolved_tree_of("/proc", profile.read)) then
    flat:add("landlock_late", { a = "/proc", value = rights.read })
  end
  if profile.read ~= "all" and path.resolved_tree_of("/dev", profile.read) then
    flat:add("landlock_late", { a = "/dev", value = rights.list })
  end
  if host.devpts then
    flat:add("landlock_late", { a = "/dev/pts", value = rights.device })
  end
  for _, name in ipairs(covers) do
    -- Sockets that the run binds it reaches anyway; others are in what is put back, beneath this rule.
    flat:add("landlock_late", { a = name, value = rights.write & ~rights.unix })
  end
end

--- Nothing more is made in /dev: the file system itself goes read-only, the nodes and the two mounts in it do not.
function M.close_dev(writer)
  if writer.has_setattr then
    writer.flat:add("mount_set", { a = "/dev", value = RDONLY | NOEXEC })
  else
    writer.flat:add("remount_read_only", { a = "/dev" })
  end
end

return M
