local core = require("procage.core")
local throwaway = require("spec.support.throwaway")

local prelude = [[
local host = core.probe()
local function sh(command)
  local pipe = io.popen("exec 2>&1; export LC_ALL=C; " .. command)
  local output = pipe:read("a"):gsub("\n$", "")
  pipe:close()
  return output
end
local function status(name)
  for line in io.lines("/proc/self/status") do
    local value = line:match("^" .. name .. ":%s*(.*)$")
    if value then
      return value
    end
  end
end
local function say(...)
  print(table.concat({ ... }, "|"))
end
local function result(ok, message, code)
  return ok and "true" or code .. " " .. message
end
]]

---@param who Who
---@param script string
---@return string[] lines
local function run(who, script)
  if who.missing then
    pending(who.missing)
  end
  local lines = {}
  for line in (throwaway.lua(who, prelude .. script) .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

local is_root = core.probe().uid == 0

for _, who in ipairs(throwaway.everybody()) do
  describe("by " .. who.name .. ", drop_capabilities", function()
    it("leaves every set empty", function()
      local lines = run(who, [[
        say(result(core.drop_capabilities()))
        for _, set in ipairs({ "CapInh", "CapPrm", "CapEff", "CapAmb" }) do
          say(set, tostring(tonumber(status(set), 16)))
        end
      ]])
      assert.same({ "true", "CapInh|0", "CapPrm|0", "CapEff|0", "CapAmb|0" }, lines)
    end)

    it("can be done twice", function()
      local lines = run(who, "say(result(core.drop_capabilities())) say(result(core.drop_capabilities()))")
      assert.same({ "true", "true" }, lines)
    end)

    it("takes away those of a user namespace of one's own too", function()
      if not core.probe().userns then
        pending("no user namespaces here")
      end
      local lines = run(who, [[
        assert(core.unshare_user(host.uid, host.gid))
        say(tostring(tonumber(status("CapEff"), 16) ~= 0))
        say(result(core.drop_capabilities()))
        say(tostring(tonumber(status("CapEff"), 16)), tostring(tonumber(status("CapBnd"), 16)))
        say(sh("grep CapEff /proc/self/status"):match("%x+$"))
        say(result(core.unshare_mount()))
      ]])
      assert.same({ "true", "true", "0|0", "0000000000000000", "1 mount namespace: Operation not permitted" }, lines)
    end)
  end)

  describe("by " .. who.name .. ", no_new_privs", function()
    it("is set, stays set in children, and can be set twice", function()
      local lines = run(who, [[
        say(status("NoNewPrivs"))
        say(result(core.no_new_privs()))
        say(result(core.no_new_privs()))
        say(status("NoNewPrivs"))
        say(sh("grep NoNewPrivs /proc/self/status"):match("%d"))
      ]])
      assert.same({ "0", "true", "true", "1", "1" }, lines)
    end)
  end)

  describe("by " .. who.name .. ", new_session", function()
    it("gives a session and a group of one's own, once", function()
      -- Below a shell that leads nothing: a group's leader may not leave it.
      local lines = run(who, [[
        local function ids()
          local text = io.open("/proc/self/stat"):read("a")
          local pid, group, session = text:match("^(%d+) .*%) %a %d+ (%d+) (%d+) ")
          return pid == session, pid == group
        end
        local leads_session = ids()
        say(tostring(leads_session))
        say(result(core.new_session()))
        local session, group = ids()
        say(tostring(session), tostring(group))
        say(result(core.new_session()))
      ]])
      assert.same({ "false", "true", "true|true", "1 new session: Operation not permitted" }, lines)
    end)
  end)

  describe("by " .. who.name .. ", close_from", function()
    it("closes every descriptor from a number up, and no other", function()
      local lines = run(who, [[
        local held = {}
        for i = 1, 6 do
          held[i] = assert(io.open("/dev/null"))
        end
        -- The pipe to the shell takes the two lowest free ones, one of them for a moment only: those are not asked for.
        local function open(...)
          local states = {}
          for i, fd in ipairs({ ... }) do
            states[i] = sh("test -e /proc/$PPID/fd/" .. fd .. " && echo open || echo closed")
          end
          return table.concat(states, " ")
        end
        say(open(0, 1, 2, 3, 4, 7, 8))
        say(result(core.close_from(5)))
        say(open(0, 1, 2, 3, 4, 7, 8))
        say(result(core.close_from(3)))
        say(open(0, 1, 2, 5, 7, 8))
        os.exit(true, false)
      ]])
      assert.same({
        "open open open open open open open",
        "true",
        "open open open open open closed closed",
        "true",
        "open open open closed closed closed",
      }, lines)
    end)

    it("closes a descriptor far above the limit that is in force", function()
      local lines = run(who, [[
        assert(core.set_rlimit("nofile", 16))
        say(result(core.close_from(3)))
        os.exit(true, false)
      ]])
      assert.same({ "true" }, lines)
    end)
  end)

  describe("by " .. who.name .. ", set_rlimit", function()
    it("sets both limits, and the kernel enforces them", function()
      local lines = run(who, [[
        local dir = sh("mktemp -d")
        say(sh("head -c 100000 /dev/zero >" .. dir .. "/a; stat -c %s " .. dir .. "/a"))
        say(result(core.set_rlimit("fsize", 4096)))
        say(sh("ulimit -Sf; ulimit -Hf"):gsub("\n", " "))
        say(sh("(head -c 100000 /dev/zero >" .. dir .. "/b) 2>/dev/null; stat -c %s " .. dir .. "/b"):match("%d+$"))
        sh("rm -r " .. dir)
      ]])
      assert.equal("100000", lines[1])
      assert.equal("true", lines[2])
      local soft, hard = lines[3]:match("^(%d+) (%d+)")
      assert.equal(soft, hard)
      assert.equal("4096", lines[4])
    end)

    it("is visible in the kernel's list for each name", function()
      local rows = {
        { "core", "Max core file size", 0 },
        { "cpu", "Max cpu time", 1000 },
        { "data", "Max data size", 1 << 33 },
        { "fsize", "Max file size", 1 << 20 },
        { "nofile", "Max open files", 64 },
        { "nproc", "Max processes", 10000 },
        { "stack", "Max stack size", 1 << 22 },
      }
      for _, row in ipairs(rows) do
        local lines = run(
          who,
          ([[
          local function limits()
            for line in io.lines("/proc/self/limits") do
              local soft, hard = line:match("^%s%%s+(%%S+)%%s+(%%S+)")
              if soft then
                return soft, hard
              end
            end
          end
          local _, before = limits()
          say(result(core.set_rlimit(%q, %d)))
          say(before, limits())
        ]]):format(row[2], row[1], row[3])
        )
        assert.equal("true", lines[1], row[1])
        local before, soft, hard = lines[2]:match("^(.-)|(.-)|(.*)$")
        local want = tostring(row[3])
        if before ~= "unlimited" and tonumber(before) < row[3] then
          want = before
        end
        -- A second is left for the signal that tells of it (process_child.c).
        local most = row[1] == "cpu" and before == "unlimited" and tostring(row[3] + 1) or want
        assert.same({ want, most }, { soft, hard }, row[1])
      end
    end)

    it("never raises a limit, by whomever", function()
      local lines = run(who, [[
        assert(core.set_rlimit("nofile", 64))
        say(result(core.set_rlimit("nofile", 128)))
        say(sh("ulimit -Hn"))
      ]])
      assert.same({ "true", "64" }, lines)
    end)
  end)

  describe("by " .. who.name .. ", reset_signals", function()
    it("unblocks every signal and restores every default", function()
      if who.missing then
        pending(who.missing)
      elseif not select(2, throwaway.shell("command -v env")) then
        pending("no env(1)")
      end
      local ignoring = { name = who.name, prefix = who.prefix .. "env --ignore-signal=HUP,USR1,PIPE --block-signal=TERM,USR2 " }
      local lines = run(ignoring, [[
        say(status("SigBlk"), status("SigIgn"))
        say(result(core.reset_signals()))
        say(status("SigBlk"), status("SigIgn"))
        say((sh("grep -E 'SigBlk|SigIgn' /proc/self/status"):gsub("%s+", " ")))
        say(sh("sh -c 'kill -USR1 $$; echo survived' >/dev/null; echo $?"))
      ]])
      -- Whoever started the tests may ignore more.
      local blocked, ignored = lines[1]:match("^(%x+)|(%x+)$")
      assert.equal(0x4800, tonumber(blocked, 16) & 0x4800)
      assert.equal(0x1201, tonumber(ignored, 16) & 0x1201)
      assert.equal("true", lines[2])
      assert.equal("0000000000000000|0000000000000000", lines[3])
      -- popen(3) of glibc ignores the two signals that it keeps for itself.
      local child_blocked, child_ignored = lines[4]:match("^SigBlk: (%x+) SigIgn: (%x+)$")
      assert.equal(0, tonumber(child_blocked, 16))
      assert.equal(0, tonumber(child_ignored, 16) & 0x7fffffff)
      -- After what the shell has to say about it: 128 and SIGUSR1.
      assert.equal("138", lines[#lines])
    end)
  end)
end

describe("root without capabilities", function()
  it("gains none by executing a program, and cannot turn that back", function()
    if not is_root then
      pending("not root")
    end
    local root = throwaway.everybody()[1]
    local control = run(root, 'say(sh("grep CapEff /proc/self/status"):match("%x+$"))')
    local lines = run(root, [[
      say(result(core.drop_capabilities()))
      say(sh("grep CapEff /proc/self/status"):match("%x+$"))
      say(sh("grep CapBnd /proc/self/status"):match("%x+$"))
      say(sh("setpriv --securebits=-noroot true && echo unlocked"):match("%w+$"))
      say(sh("setpriv --dump | grep -i securebits"))
    ]])
    assert.not_matches("^0+$", control[1])
    assert.same({ "true", "0000000000000000", "0000000000000000" }, { lines[1], lines[2], lines[3] })
    assert.not_equal("unlocked", lines[4])
    assert.matches("noroot_locked", lines[5])
  end)

  it("cannot read what its owner keeps from everybody", function()
    if not is_root then
      pending("not root")
    end
    local root = throwaway.everybody()[1]
    local dir <close> = throwaway.directory()
    local file = dir.path .. "/private"
    throwaway.write(file, "private")
    throwaway.shell("chown 61234 " .. throwaway.quote(file) .. "; chmod 600 " .. throwaway.quote(file))
    local lines = run(
      root,
      ([[
      local file = %q
      say(sh("cat " .. file))
      say(result(core.drop_capabilities()))
      say(sh("cat " .. file))
    ]]):format(file)
    )
    assert.equal("private", lines[1])
    assert.equal("true", lines[2])
    assert.matches("Permission denied$", lines[3])
  end)
end)

describe("a caller's mistake", function()
  it("raises: an unknown limit, a negative value, a number where a name belongs, no descriptor", function()
    for _, call in ipairs({
      { "set_rlimit", "files", 1 },
      { "set_rlimit", "nofile", -1 },
      { "set_rlimit", "nofile" },
      { "set_rlimit", 7, 1 },
      { "close_from", -1 },
      { "close_from" },
      { "close_from", "x" },
    }) do
      assert.has_error(function()
        core[call[1]](table.unpack(call, 2))
      end)
    end
  end)

  it("is not one of the names that rlimits lists", function()
    local count = 0
    for name, number in pairs(core.rlimits) do
      assert.matches("^%l+$", name)
      assert.is_true(number >= 0 and number < 16)
      count = count + 1
    end
    assert.is_true(count >= 7)
  end)
end)
