--- What was refused, for people and models: one line a distinct refusal, with the smallest change that would allow it.
---
--- It shows what the supervisor answered: system calls of the filter and mediated connections. It is never evidence that
--- nothing else was refused, and its note says so.

local M = {}

---@class procage.Denial
---@field text string  what was refused, to whom, how often; control characters escaped
---@field kind "unix"|"inet"|"nested"|"syscall"
---@field clause string
---@field errno integer
---@field count integer
---@field allow? string  the smallest change of the configuration; nil: none is offered

---@class procage.Denials
---@field denied procage.Denial[]  at most ten, most specific first
---@field more integer  further refusals that are not listed
---@field note string

local MAX_LINES = 10

local FAMILIES = {
  [2] = "AF_INET", [3] = "AF_AX25", [10] = "AF_INET6", [15] = "AF_KEY", [16] = "AF_NETLINK", [17] = "AF_PACKET",
  [29] = "AF_CAN", [31] = "AF_BLUETOOTH", [38] = "AF_ALG", [40] = "AF_VSOCK", [44] = "AF_XDP",
}

local AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
local SOCK_DGRAM = 2
local ENETUNREACH = 101

--- Source: clone(2).
local NAMESPACES = {
  { 0x00020000, "mount" }, { 0x02000000, "cgroup" }, { 0x04000000, "UTS" }, { 0x08000000, "IPC" }, { 0x10000000, "user" },
  { 0x20000000, "PID" }, { 0x40000000, "network" },
}

--- Calls with which a program builds a sandbox of its own.
local NESTING = {
  mount = true, umount2 = true, pivot_root = true, setns = true, chroot = true, open_tree = true, move_mount = true,
  fsopen = true, fsmount = true, fspick = true, fsconfig = true, mount_setattr = true,
}

local function escape(text)
  return (text:gsub("[%c\127]", function(char)
    return ("\\x%02x"):format(char:byte())
  end))
end

--- The family in a socket address; nil when it is too short to have one. Source: sockaddr(3type).
local function family_of(address)
  return #address >= 2 and string.unpack("<I2", address) or nil
end

local function ipv6_text(bytes)
  local groups = {}
  for i = 1, 16, 2 do
    groups[#groups + 1] = ("%x"):format(string.unpack(">I2", bytes, i))
  end
  return table.concat(groups, ":")
end

--- "/run/x.sock", "@name", "198.51.100.7:80", "[2001:db8:0:0:0:0:0:1]:443"
---@param address string  as connect(2) was given it
---@return string
function M.address_text(address)
  local family = family_of(address)
  if family == AF_UNIX then
    local path = address:sub(3)
    if path:byte() == 0 then
      return "@" .. escape(path:sub(2))
    end
    return escape(path:match("^[^%z]*"))
  elseif family == AF_INET and #address >= 8 then
    local port, a, b, c, d = string.unpack(">I2BBBB", address, 3)
    return ("%d.%d.%d.%d:%d"):format(a, b, c, d, port)
  elseif family == AF_INET6 and #address >= 24 then
    return ("[%s]:%d"):format(ipv6_text(address:sub(9, 24)), (string.unpack(">I2", address, 3)))
  end
  return ("an address of family %s"):format(tostring(family))
end

local function widen_network(fitted)
  return fitted.network == "none" and '--net loopback, or --net all for the outside' or "--net all"
end

local function describe_connect(raw, fitted)
  local target = M.address_text(raw.address or "")
  if family_of(raw.address or "") ~= AF_UNIX then
    return "inet", "network", "connect to " .. target, widen_network(fitted)
  elseif target:sub(1, 1) == "/" then
    return "unix", "sockets", "connect to the Unix socket " .. target,
      ("--set 'sockets=[\"%s\"]' (the program behind it acts with the user's rights)"):format(target)
  end
  return "unix", target:sub(1, 1) == "@" and "abstract" or "sockets", "connect to the Unix socket " .. target
end

local function describe_socket(raw, fitted)
  local family, kind = raw.args[1] & 0xffffffff, raw.args[2] & 0xf
  if family == AF_UNIX then
    return "unix", "sockets", kind == SOCK_DGRAM and "a Unix datagram socket" or "a Unix socket of type " .. kind
  elseif family == AF_INET or family == AF_INET6 then
    return "inet", "network", ("socket(%s)"):format(FAMILIES[family]), widen_network(fitted)
  end
  return "inet", "network", ("socket(%s)"):format(FAMILIES[family] or "family " .. family)
end

local function describe_namespaces(raw)
  local names = {}
  for _, row in ipairs(NAMESPACES) do
    if raw.args[1] & row[1] ~= 0 then
      names[#names + 1] = row[2]
    end
  end
  local what = #names > 0 and table.concat(names, ", ") .. " namespace" or "namespaces"
  return "nested", "signals", ("%s(%s): a sandbox cannot start inside this one"):format(raw.call, what)
end

---@return string kind, string clause, string text, string? allow
local function describe(raw, fitted)
  if raw.call == "connect" then
    return describe_connect(raw, fitted)
  elseif raw.call == "socket" or raw.call == "socketpair" then
    return describe_socket(raw, fitted)
  elseif raw.call == "clone" or raw.call == "unshare" then
    return describe_namespaces(raw)
  elseif NESTING[raw.call] then
    return "nested", "write", raw.call .. ": mounts cannot be changed in here"
  end
  return "syscall", "signals", raw.call
end

--- The more a line says of what was wanted, the further up it stands.
local RANK = { unix = 1, inet = 2, nested = 3, syscall = 4 }

local function line_of(raw, fitted)
  local kind, clause, what, allow = describe(raw, fitted)
  local text = ("%s: %s"):format(what, raw.error)
  if raw.process ~= "" then
    text = text .. (" (by %s)"):format(escape(raw.process))
  end
  return { text = text, kind = kind, clause = clause, errno = raw.errno, count = raw.count, allow = allow }
end

--- One line a distinct text: registers differ that no text tells.
local function merge(lines)
  local merged, by_text = {}, {}
  for _, line in ipairs(lines) do
    local same = by_text[line.text]
    if same then
      same.count = same.count + line.count
    else
      by_text[line.text], merged[#merged + 1] = line, line
    end
  end
  for _, line in ipairs(merged) do
    if line.count > 1 then
      line.text = line.text .. (", %d times"):format(line.count)
    end
  end
  return merged
end

local function has_own_network(fitted)
  for _, name in ipairs(fitted.mechanisms) do
    if name == "netns" then
      return true
    end
  end
  return false
end

---@param raw table  as core.run returns it
---@param fitted procage.Profile
---@return procage.Denials
function M.of(raw, fitted)
  local lines, more = {}, raw.more
  local own_network = has_own_network(fitted)
  for _, entry in ipairs(raw) do
    -- Without a route of its own the host may lack one; that is no refusal of ours.
    if entry.errno ~= ENETUNREACH or own_network then
      lines[#lines + 1] = line_of(entry, fitted)
    end
  end
  lines = merge(lines)
  for i, line in ipairs(lines) do
    line.place = i
  end
  table.sort(lines, function(a, b)
    if RANK[a.kind] ~= RANK[b.kind] then
      return RANK[a.kind] < RANK[b.kind]
    end
    return a.place < b.place
  end)
  local denied = {}
  for i, line in ipairs(lines) do
    line.place = nil
    if i <= MAX_LINES then
      denied[i] = line
    else
      more = more + line.count
    end
  end
  local note = raw.is_recorded
      and "refused system calls and connections; files that were refused are not listed, the program's own message names them"
    or "refusals are not recorded on this host"
  return { denied = denied, more = more, note = note }
end

return M
