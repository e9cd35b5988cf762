--- Attacks over sockets: network, families, Unix sockets by path and by abstract name.

local path = require("procage.path")
local shows = require("procage.doctor.attacks.shows")
local trees = require("procage.doctor.tree")

---@type table<string, procage.doctor.Class>
local M = {}

M.network = {
  about = "TCP, UDP as DNS has it, IPv4 and IPv6, to listeners on this machine",
  unclaimed = function(c)
    if c.is_off then
      return nil
    elseif c.profile.network == "all" or c.profile.loopback == "host" and c.profile.network == "loopback" then
      return "allowed by the profile: network = "
        .. (c.profile.network == "all" and "all" or "loopback, the host's")
    end
    return c:gap("network")
  end,
  attacks = function(t, _, add)
    local ways = {
      tcp = { { "tcp", "TCP" }, { "fastopen", "TCP Fast Open" }, { "mptcp", "MPTCP" }, { "uring_tcp", "TCP by io_uring" } },
      tcp6 = { { "tcp", "TCP over IPv6" } },
      udp = { { "udp", "UDP" }, { "udp_connect", "UDP, connected, as DNS" } },
      udp6 = { { "udp", "UDP over IPv6" } },
    }
    for _, kind in ipairs({ "tcp", "tcp6", "udp", "udp6" }) do
      local listener = t:keep(kind)
      for _, way in ipairs(listener and ways[kind] or {}) do
        local text = trees.token()
        local host = kind:find("6") and "::1" or "127.0.0.1"
        add(way[2], { way[1], host, tostring(listener:number()), text }, shows.came(t, listener, text))
      end
    end
  end,
}

M.families = {
  about = "raw and packet sockets, vsock, netlink",
  unclaimed = shows.nothing,
  attacks = function(t, _, add)
    local udp, packet, vsock, netlink = t:keep("udp"), t:keep("packet"), t:keep("vsock"), t:keep("netlink")
    if udp then
      local text = trees.token()
      add("a raw socket", { "raw", "127.0.0.1", tostring(udp:number()), text }, shows.came(t, udp, text))
    end
    if packet then
      local text = trees.token()
      add("a packet socket", { "packet", text }, shows.came(t, packet, text))
    end
    local text = trees.token()
    if vsock then
      add("vsock", { "vsock", tostring(vsock:number()), text }, shows.came(t, vsock, text))
    end
    if netlink then
      add("netlink, to a process", { "netlink", tostring(netlink:number()), text }, shows.came(t, netlink, text))
    end
  end,
}

M.sockets = {
  about = "Unix sockets of programs outside, by path",
  unclaimed = function(c)
    local outside = path.parent(c.home) .. "/outside"
    if not c.is_off and (c:may_write(outside) or path.resolved_tree_of(outside, c.profile.sockets)) then
      return "allowed by the profile"
    end
    return c:gap("sockets")
  end,
  attacks = function(t, _, add)
    for _, kind in ipairs({ "stream", "seqpacket", "dgram" }) do
      local name = ("%s/%s"):format(t.outside, kind:sub(1, 2))
      local listener = t:keep(kind, name)
      local function try(told_as, words)
        local text = trees.token()
        for i, word in ipairs(words) do
          words[i] = word == "TEXT" and text or word
        end
        add(told_as, words, shows.came(t, listener, text))
      end
      if listener then
        try(kind, { "unix", kind, name, "TEXT" })
        try(kind .. ", through a symbolic link", { "unix_link", kind, name, "TEXT", t.workspace .. "/s-" .. kind })
        try(kind .. ", through /proc/self/root", { "unix", kind, "/proc/self/root" .. name, "TEXT" })
      end
      if listener and kind == "dgram" then
        try("dgram, by sendto", { "unix_sendto", name, "TEXT" })
        try("dgram, by sendmsg", { "unix_sendmsg", name, "TEXT" })
        try("dgram, from one of a pair", { "unix_pair", name, "TEXT" })
      elseif listener and kind == "stream" then
        try("stream, by io_uring", { "uring_unix", name, "TEXT" })
      end
    end
  end,
}

M.abstract = {
  about = "abstract Unix sockets of programs outside",
  unclaimed = function(c)
    return c:gap("abstract")
  end,
  attacks = function(t, _, add)
    for _, kind in ipairs({ "stream", "dgram" }) do
      local name = "@procage-doctor-" .. trees.token()
      local listener = t:keep(kind, name)
      if listener then
        local text = trees.token()
        add(kind, { "unix", kind, name, text }, shows.came(t, listener, text))
      end
      if listener and kind == "dgram" then
        local text = trees.token()
        add("dgram, from one of a pair", { "unix_pair", name, text }, shows.came(t, listener, text))
      end
    end
  end,
}

return M
