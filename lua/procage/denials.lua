--- What was refused, for people and models: one line a distinct refusal, with the smallest change that would allow it.
---
--- It shows what the supervisor answered: system calls of the filter and mediated connections; and files, as the kernel's audit
--- records or an observer have them. It is never evidence that nothing else was refused, and its note says so.

local later = require("procage.later")
local list = require("procage.list")

local denied_paths, quote = later("procage.denied_paths"), later("procage.quote")
local remedy = later("procage.remedy")

local M = {}

---@class procage.Denial
---@field text string  what was refused, to whom, how often; control characters escaped
---@field kind "path"|"unix"|"inet"|"nested"|"syscall"
---@field clause string
---@field errno integer
---@field count integer
---@field allow? string  the option that would allow it, tried by building the policy with it; nil: none is offered
---@field config? string  the same as a line of the [sandbox] table
---@field why? string  what `procage-lua why` is asked for what decides: "connect 198.51.100.7:443"

---@class procage.Denials
---@field denied procage.Denial[]  at most ten, most specific first
---@field more integer  further refusals that are not listed
---@field note string
---@field source? "audit"|"audit and observer"|"observer"  who told of files; "audit": the kernel, and that is exact

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

--- 127.0.0.0/8, ::1, and the former spelt as IPv6.
local function is_loopback(target)
  for _, pattern in ipairs({ "^127%.", "^%[0:0:0:0:0:0:0:1%]", "^%[0:0:0:0:0:ffff:7f" }) do
    if target:find(pattern) then
      return true
    end
  end
  return false
end

--- The port of an address of the network.
local function port_of(target)
  return target and math.tointeger(tonumber(target:match(":(%d+)$")))
end

--- What might do, smallest first. What a socket is for nobody knows: then nothing is offered.
local function reach(fitted, target)
  -- A loopback that is the host's has servers of the host.
  if target and is_loopback(target) and list.has(fitted.mechanisms, "mediated-loopback") then
    return { loopback = "host" }, { op = "connect", target = target, is_foreign = true }
  elseif fitted.network == "none" and target and is_loopback(target) then
    return { network = "loopback" }, { op = "connect", target = target, is_loopback = true }
  end
  local port = port_of(target)
  return remedy.network(fitted.network, port), { op = "connect", target = target or "the network", port = port }
end

local function describe_connect(raw, fitted)
  local target = M.address_text(raw.address or "")
  if family_of(raw.address or "") ~= AF_UNIX then
    return "inet", "network", "connect to " .. target, reach(fitted, target)
  elseif target:sub(1, 1) == "/" then
    -- The program behind it acts with the user's rights.
    return "unix", "sockets", "connect to the Unix socket " .. target, { sockets = { target } },
      { op = "unix", target = target }
  end
  return "unix", target:sub(1, 1) == "@" and "abstract" or "sockets", "connect to the Unix socket " .. target, nil,
    { op = "unix", target = target }
end

--- On the loopback it is the port that was refused, by the kernel: one below 1024, say.
local function describe_bind(raw, fitted)
  local target = M.address_text(raw.address or "")
  if family_of(raw.address or "") == AF_UNIX then
    return "unix", "write", "make the Unix socket " .. target, nil, { op = "bind", target = target }
  elseif is_loopback(target) then
    return "inet", "network", "bind to " .. target, nil, { op = "bind", target = target }
  end
  return "inet", "network", "bind to " .. target, remedy.network(fitted.network),
    { op = "connect", target = target, question = "bind" }
end

local function describe_socket(raw, fitted)
  local family, kind = raw.args[1] & 0xffffffff, raw.args[2] & 0xf
  if family == AF_UNIX then
    return "unix", "sockets", kind == SOCK_DGRAM and "a Unix datagram socket" or "a Unix socket of type " .. kind
  elseif family == AF_INET or family == AF_INET6 then
    local text = ("socket(%s)"):format(FAMILIES[family])
    if fitted.network == "none" then
      return "inet", "network", text .. ", for the loopback (--net loopback) or for the network (--net ports:N, --net all)"
    end
    return "inet", "network", text, reach(fitted)
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

--- Calls that make a name; one that stayed absent comes with the name.
local NAMING = {
  open = true, openat = true, creat = true, mkdir = true, mkdirat = true, mknod = true, mknodat = true, link = true,
  linkat = true, symlink = true, symlinkat = true, rename = true, renameat = true, renameat2 = true,
}

---@return string kind, string clause, string text, table? change, table? asks
local function describe(raw, fitted)
  if raw.call == "connect" then
    return describe_connect(raw, fitted)
  elseif raw.call == "bind" then
    return describe_bind(raw, fitted)
  elseif raw.call == "listen" then
    return "inet", "network", "listen without a bind before"
  elseif raw.call == "socket" or raw.call == "socketpair" then
    return describe_socket(raw, fitted)
  elseif raw.call == "clone" or raw.call == "unshare" then
    return describe_namespaces(raw)
  elseif NAMING[raw.call] and raw.address then
    return "path", "handoff_absent", ("make %s, a name that others run (%s)"):format(escape(raw.address), raw.call), nil,
      { op = "write", target = raw.address }
  elseif NESTING[raw.call] then
    return "nested", "write", raw.call .. ": mounts cannot be changed in here"
  end
  return "syscall", "signals", raw.call == "ioctl" and ("ioctl(%#x)"):format(raw.args[2] & 0xffffffff) or raw.call
end

--- The more a line says of what was wanted, the further up it stands.
local RANK = { path = 1, unix = 2, inet = 3, nested = 4, syscall = 5 }

local function text_of(what, raw)
  local text = ("%s: %s"):format(what, raw.error)
  if raw.process ~= "" then
    text = text .. (" (by %s)"):format(escape(raw.process))
  end
  return text
end

local function line_of(raw, fitted)
  local kind, clause, what, change, asks = describe(raw, fitted)
  return {
    text = text_of(what, raw),
    kind = kind,
    clause = clause,
    errno = raw.errno,
    count = raw.count,
    rank = RANK[kind],
    change = change,
    asks = asks,
  }
end

local function line_of_path(entry, denied)
  return {
    text = text_of(escape(denied.what), entry),
    kind = "path",
    clause = denied.clause,
    errno = entry.errno,
    count = entry.count,
    -- What a program only wanted to read it may well do without: behind the calls.
    rank = denied.rank == 1 and RANK.path or RANK.syscall + denied.rank,
    change = denied.change,
    asks = denied.asks,
  }
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

--- Who told of files; nil: nobody.
local function source_of(accesses)
  if not accesses or not accesses.is_recorded then
    return nil
  end
  return accesses.is_audited and (accesses.is_observed and "audit and observer" or "audit") or "observer"
end

local BY_SOURCE = {
  audit = "refused system calls and connections, and files as the kernel's audit records name them: exact, but for a name \z
    that was to be made, moved or removed the directory alone; what the mode of a file refuses is not among them",
  ["audit and observer"] = "refused system calls and connections, and files: exact as the kernel's audit records name them; \z
    what a read-only mount (EROFS) or a mask answers leaves no record, and is told as an observer saw it, who can be mistaken",
  observer = "refused system calls and connections, and files as an observer saw them: it can be mistaken, and misses what a \z
    program is started from",
}

--- What the record shows, and what it cannot.
local function note_of(raw, accesses, recorded)
  local source = source_of(accesses)
  if not raw.is_recorded then
    return "refusals are not recorded: denials = off, or this host has no notifications"
  elseif source then
    local lost = (accesses.lost or 0) > 0 and "; audit records were lost, or kept out by the host's rules: the list of files \z
      may miss some"
    return BY_SOURCE[source] .. (lost or "")
  elseif recorded == "audit" then
    return "refused system calls and connections; files that were refused are not listed: the kernel's audit records could no \z
      longer be read"
  end
  return "refused system calls and connections; files that were refused are not listed, the program's own message names them \z
    (denials = \"paths\" lists them)"
end

--- What `procage-lua why` takes.
local function question_of(asks)
  local target = asks and asks.target
  -- A socket without an address; a name that nobody can type.
  if not target or target:find("%s") and asks.op == "connect" or target:find("[%c\127]") then
    return nil
  end
  return ("%s %s"):format(asks.question or asks.op == "unix" and "connect" or asks.op, quote.shell(target))
end

--- The first lines, each with the change that would allow it.
local function finish(lines, policy)
  local denied, more = {}, 0
  for i, line in ipairs(lines) do
    if i <= MAX_LINES then
      if policy then
        line.allow, line.config = remedy.checked(policy, line.change, line.asks)
      end
      line.why = question_of(line.asks)
      line.place, line.rank, line.change, line.asks = nil, nil, nil, nil
      denied[i] = line
    else
      more = more + line.count
    end
  end
  return denied, more
end

---@param raw table  the denials that core.run returns
---@param fitted procage.Profile
---@param accesses? table  its accesses
---@param policy? procage.Policy  that a change is tried with; nil: none is offered
---@return procage.Denials
function M.of(raw, fitted, accesses, policy)
  if policy and policy:recorded() == "off" then
    raw, accesses = { is_recorded = false, more = 0 }, nil
  end
  local lines = {}
  local own_network = list.has(fitted.mechanisms, "netns")
  for _, entry in ipairs(raw) do
    -- Without a route of its own the host may lack one; that is no refusal of ours.
    if entry.errno ~= ENETUNREACH or own_network then
      lines[#lines + 1] = line_of(entry, fitted)
    end
  end
  for _, found in ipairs(accesses and accesses[1] and policy and denied_paths.of(accesses, policy) or {}) do
    lines[#lines + 1] = line_of_path(found.entry, found.denied)
  end
  lines = merge(lines)
  for i, line in ipairs(lines) do
    line.place = i
  end
  table.sort(lines, function(a, b)
    if a.rank ~= b.rank then
      return a.rank < b.rank
    end
    return a.place < b.place
  end)
  local denied, more = finish(lines, policy)
  more = more + raw.more + (accesses and accesses.more or 0)
  local note = note_of(raw, accesses, policy and policy:recorded())
  return { denied = denied, more = more, note = note, source = source_of(accesses) }
end

return M
