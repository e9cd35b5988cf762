local core = require("procage.core")
local throwaway = require("spec.support.throwaway")

local quote = throwaway.quote

-- Every script of this file starts so: in namespaces of its own, with words to look at the result.
local prelude = [[
local dir = %q
local host = core.probe()
local function enter()
  assert(core.unshare_user(host.uid, host.gid))
  assert(core.unshare_mount())
  assert(core.mount_private())
end
local function sh(command)
  local pipe = io.popen("exec 2>&1; export LC_ALL=C; " .. command)
  local output = pipe:read("a"):gsub("\n$", "")
  pipe:close()
  return output
end
local function read(path)
  local file, message = io.open(path)
  if not file then
    return message
  end
  local text = file:read("a")
  file:close()
  return text
end
local function write(path, text)
  local file, message = io.open(path, "a")
  if not file then
    return message
  end
  file:write(text)
  file:close()
  return "written"
end
local function say(...)
  print(table.concat({ ... }, "|"))
end
-- "errno message" of a refusal, "true" of a success
local function result(ok, message, code)
  return ok and "true" or code .. " " .. message
end
]]

---@param who Who
local function needs(who)
  if who.missing then
    pending(who.missing)
  elseif not core.probe().mountns then
    pending("no mounts in a user namespace here")
  end
end

-- A tree to work on, and what a script prints line by line.
---@param who Who
---@param script string
---@return string[] lines
local function run(who, script)
  local tree <close> = throwaway.directory()
  local dir = tree.path .. "/tree"
  -- Made by whom it concerns: root in a user namespace is nobody to the files of others.
  throwaway.shell(
    ("%ssh -c 'mkdir %s && cd %s && mkdir a b secret && echo one >a/file && echo two >b/file && echo hush >secret/word"):format(
      who.prefix,
      dir,
      dir
    ) .. " && echo hush >key && ln -s secret link && ln -s key keylink && mkdir secret/deep && ln -s . here'"
  )
  local lines = {}
  for line in (throwaway.lua(who, prelude:format(dir) .. script) .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

for _, who in ipairs(throwaway.everybody()) do
  describe("by " .. who.name .. ", unshare_user", function()
    it("maps one user and one group to themselves, with capabilities inside", function()
      needs(who)
      local lines = run(
        who,
        [[
        local before = sh("readlink /proc/self/ns/user")
        say(result(core.unshare_user(host.uid, host.gid)))
        say(tostring(before ~= sh("readlink /proc/self/ns/user")))
        say((read("/proc/self/uid_map"):gsub("^%s+", ""):gsub("%s+", " ")))
        say((read("/proc/self/gid_map"):gsub("^%s+", ""):gsub("%s+", " ")))
        say(read("/proc/self/setgroups"):match("%w+"), tostring(host.uid), tostring(host.gid))
        say(read("/proc/self/status"):match("CapEff:%s*(%x+)"))
      ]]
      )
      assert.equal("true", lines[1])
      assert.equal("true", lines[2])
      local uid, gid = lines[5]:match("^deny|(%d+)|(%d+)$")
      assert.equal(("%s %s 1 "):format(uid, uid), lines[3])
      assert.equal(("%s %s 1 "):format(gid, gid), lines[4])
      assert.not_matches("^0+$", lines[6])
    end)

    it("refuses the ids of another, and says that it was the map", function()
      needs(who)
      local lines = run(who, "say(result(core.unshare_user(host.uid + 1, host.gid)))")
      assert.equal("1 id maps of the user namespace: Operation not permitted", lines[1])
    end)

    it("raises on what is no id", function()
      for _, id in ipairs({ -1, 1 << 32, "x", 1.5 }) do
        assert.has_error(function()
          core.unshare_user(id, 0)
        end)
      end
    end)
  end)

  describe("by " .. who.name .. ", a namespace", function()
    for _, row in ipairs({
      { call = "unshare_mount", link = "mnt", what = "mount" },
      { call = "unshare_net", link = "net", what = "network" },
      { call = "unshare_ipc", link = "ipc", what = "IPC" },
      { call = "unshare_uts", link = "uts", what = "UTS" },
      { call = "unshare_pid", link = "pid", what = "PID" },
    }) do
      it("is left by " .. row.call, function()
        needs(who)
        local lines = run(
          who,
          ([[
          local link = "readlink /proc/self/ns/%s"
          assert(core.unshare_user(host.uid, host.gid))
          local before = sh(link)
          say(result(core.%s()))
          say(tostring(before ~= sh(link)))
        ]]):format(row.link, row.call)
        )
        assert.same({ "true", "true" }, lines)
      end)

      it("cannot be left by " .. row.call .. " without the right to", function()
        needs(who)
        local lines = run(who, ("core.drop_capabilities() say(result(core.%s()))"):format(row.call))
        assert.equal(("1 %s namespace: Operation not permitted"):format(row.what), lines[1])
      end)
    end

    it("of PIDs holds the next child as its first process", function()
      needs(who)
      local lines = run(who, [[
        assert(core.unshare_user(host.uid, host.gid))
        say(tostring(sh("echo $$") == "1"))
        assert(core.unshare_pid())
        say(sh("echo $$"))
      ]])
      assert.same({ "false", "1" }, lines)
    end)

    it("of System V IPC does not show the host's queues", function()
      needs(who)
      if not select(2, throwaway.shell("command -v ipcmk")) then
        pending("no ipcmk(1)")
      end
      local lines = run(who, [[
        local id = sh("ipcmk -Q"):match("%d+")
        say(tostring(sh("cat /proc/sysvipc/msg"):find("%f[%d]" .. id .. "%f[%D]") ~= nil))
        assert(core.unshare_user(host.uid, host.gid))
        assert(core.unshare_ipc())
        say(tostring(sh("cat /proc/sysvipc/msg"):find("%f[%d]" .. id .. "%f[%D]") ~= nil))
        print(id)
      ]])
      throwaway.shell(who.prefix .. "ipcrm -q " .. tostring(lines[3]))
      assert.equal("true", lines[1])
      assert.equal("false", lines[2])
    end)
  end)

  describe("by " .. who.name .. ", net_lo_up", function()
    it("brings up the interface of an empty network namespace", function()
      needs(who)
      local lines = run(who, [[
        assert(core.unshare_user(host.uid, host.gid))
        assert(core.unshare_net())
        -- A route of the local table is there as long as the interface is up.
        say(tostring(read("/proc/self/net/fib_trie"):find("127.0.0.1", 1, true) ~= nil))
        say(result(core.net_lo_up()))
        say(tostring(read("/proc/self/net/fib_trie"):find("127.0.0.1", 1, true) ~= nil))
      ]])
      assert.same({ "false", "true", "true" }, lines)
    end)

    it("may not touch the interface of a namespace that is not its own", function()
      needs(who)
      local lines = run(who, [[
        assert(core.unshare_user(host.uid, host.gid))
        say(result(core.net_lo_up()))
      ]])
      assert.equal("1 loopback interface: Operation not permitted", lines[1])
    end)
  end)

  describe("by " .. who.name .. ", a mount", function()
    it("is not seen outside of the namespace", function()
      needs(who)
      local tree <close> = throwaway.directory()
      throwaway.write(tree.path .. "/outside", "")
      local output = throwaway.lua(
        who,
        prelude:format(tree.path) .. [[
        enter()
        say(result(core.mount_tmpfs(dir)))
        say(sh("ls " .. dir))
        local parent = sh("ps -o ppid= -p $PPID"):match("%d+")
        say(sh("ls /proc/" .. parent .. "/root" .. dir))
      ]]
      )
      assert.matches("^true\n\n", output)
      assert.matches("outside", (throwaway.shell("ls " .. quote(tree.path))))
      assert.equal("", (throwaway.shell("grep -F " .. quote(tree.path) .. " /proc/self/mountinfo")))
    end)

    it("cannot be made without a mount namespace of one's own", function()
      needs(who)
      local lines = run(who, [[
        assert(core.unshare_user(host.uid, host.gid))
        say(result(core.mount_private()))
        say(result(core.mount_tmpfs(dir .. "/a")))
        say(result(core.mount_bind(dir .. "/a", dir .. "/b")))
        say(result(core.mount_read_only(dir)))
        say(result(core.mask_directory(dir .. "/a")))
        say(result(core.mask_file(dir .. "/key")))
        say(result(core.mount_proc("/proc")))
        say(result(core.mount_devpts(dir .. "/a")))
        say(read(dir .. "/a/file"))
      ]])
      for i = 1, 8 do
        assert.matches("^1 .*: Operation not permitted$", lines[i])
      end
      assert.equal("one", lines[9])
    end)
  end)

  describe("by " .. who.name .. ", mount_bind", function()
    it("shows a tree at another place, and writes go through", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say(result(core.mount_bind(dir .. "/a", dir .. "/b")))
        say((read(dir .. "/b/file"):gsub("\n", "")))
        say(write(dir .. "/b/new", "x"), read(dir .. "/a/new"))
      ]])
      assert.same({ "true", "one", "written|x" }, lines)
    end)

    it("read-only refuses to write, to change a mode and to remove, and leaves the original writable", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say(write(dir .. "/b/file", "x"))
        say(result(core.mount_bind(dir .. "/a", dir .. "/b", { read_only = true })))
        say(write(dir .. "/b/file", "x"))
        say(sh("chmod 600 " .. dir .. "/b/file"))
        say(sh("rm -f " .. dir .. "/b/file"))
        say(sh("mv " .. dir .. "/b " .. dir .. "/c"))
        say(write(dir .. "/a/file", "x"))
      ]])
      assert.equal("written", lines[1])
      assert.equal("true", lines[2])
      assert.matches("Read%-only file system$", lines[3])
      assert.matches("Read%-only file system$", lines[4])
      assert.matches("Read%-only file system$", lines[5])
      assert.matches("Device or resource busy$", lines[6])
      assert.equal("written", lines[7])
    end)

    it("takes the mounts below along, and makes them read-only too", function()
      needs(who)
      local lines = run(who, [[
        enter()
        assert(core.mount_tmpfs(dir .. "/secret/deep"))
        write(dir .. "/secret/deep/x", "below")
        say(result(core.mount_bind(dir .. "/secret", dir .. "/b", { read_only = true })))
        say(read(dir .. "/b/deep/x"))
        say(write(dir .. "/b/deep/x", "y"))
        say(write(dir .. "/secret/deep/x", "y"))
      ]])
      assert.equal("true", lines[1])
      assert.equal("below", lines[2])
      assert.matches("Read%-only file system$", lines[3])
      assert.equal("written", lines[4])
    end)

    it("binds one file", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say(result(core.mount_bind(dir .. "/a/file", dir .. "/key", { read_only = true })))
        say((read(dir .. "/key"):gsub("\n", "")))
        say(write(dir .. "/key", "x"))
      ]])
      assert.equal("true", lines[1])
      assert.equal("one", lines[2])
      assert.matches("Read%-only file system$", lines[3])
    end)

    it("follows no symbolic link, and names what is missing", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say(result(core.mount_bind(dir .. "/here/a", dir .. "/b")))
        say(result(core.mount_bind(dir .. "/a", dir .. "/here/b")))
        say(result(core.mount_bind(dir .. "/none", dir .. "/b")))
        say(result(core.mount_bind(dir .. "/a", dir .. "/none")))
        say(result(core.mount_bind(dir .. "/a", dir .. "/key")))
      ]])
      assert.matches("^40 bind .*/here/a to .*/b: Too many levels of symbolic links$", lines[1])
      assert.matches("^40 ", lines[2])
      assert.matches("^2 bind .*: No such file or directory$", lines[3])
      assert.matches("^2 ", lines[4])
      -- A directory and a file: EINVAL, says move_mount(2).
      assert.matches("^22 ", lines[5])
    end)

    it("raises on a path that is not absolute, and on an unknown option", function()
      for _, call in ipairs({
        { "a", "/b" },
        { "/a", "b" },
        { "/a\0", "/b" },
        { "/a", "/b", { readonly = true } },
        { "/a", "/b", { read_only = 1 } },
        { 1, "/b" },
      }) do
        assert.has_error(function()
          core.mount_bind(table.unpack(call))
        end)
      end
    end)
  end)

  describe("by " .. who.name .. ", mount_read_only", function()
    it("makes the whole tree unwritable, and a device in it still usable", function()
      needs(who)
      if not core.probe().mount_setattr then
        pending("no mount_setattr")
      end
      local lines = run(who, [[
        enter()
        say(write(dir .. "/key", "x"), write("/dev/null", "x"))
        say(result(core.mount_read_only("/", true)))
        say(write(dir .. "/key", "x"))
        say(sh("chmod 600 " .. dir .. "/key"))
        say(sh("touch -d @0 " .. dir .. "/key"))
        say(write("/dev/null", "x"))
      ]])
      assert.equal("written|written", lines[1])
      assert.equal("true", lines[2])
      assert.matches("Read%-only file system$", lines[3])
      assert.matches("Read%-only file system$", lines[4])
      assert.matches("Read%-only file system$", lines[5])
      assert.equal("written", lines[6])
    end)

    it("cannot be taken back by mount(8), where the mount was the host's", function()
      needs(who)
      if not core.probe().mount_setattr then
        pending("no mount_setattr")
      end
      local lines = run(who, [[
        enter()
        assert(core.mount_read_only("/", true))
        assert(core.drop_capabilities())
        say(sh("mount -o remount,bind,rw / && echo gone"))
        say(write(dir .. "/key", "x"))
      ]])
      assert.not_matches("gone", lines[1])
      assert.matches("Read%-only file system$", lines[#lines])
    end)

    it("is about mounts: a directory that is none is refused", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say(result(core.mount_read_only(dir .. "/a")))
        say(result(core.mount_read_only(dir .. "/none")))
        say(write(dir .. "/a/file", "x"))
      ]])
      assert.matches("^22 ", lines[1])
      assert.matches("^2 ", lines[2])
      assert.equal("written", lines[3])
    end)
  end)

  describe("by " .. who.name .. ", a new file system", function()
    it("mount_tmpfs is empty, takes options, and runs no program", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say(result(core.mount_tmpfs(dir .. "/a", "mode=0711,size=64k")))
        say(sh("ls " .. dir .. "/a; stat -c %a " .. dir .. "/a"))
        write(dir .. "/a/x", "#!/bin/sh\necho ran\n")
        say(sh("cd " .. dir .. "/a && chmod 755 x && sh x && ./x"):match("[^\n]*$"))
        say(result(core.mount_tmpfs(dir .. "/b", "no_such_option=1")))
        say(result(core.mount_tmpfs(dir .. "/none")))
      ]])
      assert.equal("true", lines[1])
      assert.equal("711", lines[2])
      assert.matches("Permission denied$", lines[3])
      assert.matches("^22 .*/b: Invalid argument$", lines[#lines - 1])
      assert.matches("^2 ", lines[#lines])
    end)

    it("mount_proc needs a PID namespace of one's own", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say(result(core.mount_proc("/proc")))
        assert(core.unshare_pid())
        -- The caller is not in it: only a child will be.
        say(result(core.mount_proc("/proc")))
      ]])
      assert.same({ "1 /proc: Operation not permitted", "1 /proc: Operation not permitted" }, lines)
    end)

    it("mount_devpts has terminals of its own, numbered from 0", function()
      needs(who)
      if not core.probe().devpts then
        pending("no devpts")
      end
      local lines = run(who, [[
        enter()
        say(result(core.mount_devpts(dir .. "/a")))
        say(sh("ls " .. dir .. "/a"))
        local master = assert(io.open(dir .. "/a/ptmx", "r+"))
        say((sh("ls " .. dir .. "/a"):gsub("\n", " ")))
        master:close()
        say(result(core.mount_devpts(dir .. "/none")))
      ]])
      assert.same({ "true", "ptmx", "0 ptmx" }, { lines[1], lines[2], lines[3] })
      assert.matches("^2 ", lines[4])
    end)
  end)

  describe("by " .. who.name .. ", a mask", function()
    it("over a directory hides names and contents, and nothing can be put there", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say((read(dir .. "/secret/word"):gsub("\n", "")))
        local held = assert(io.open(dir .. "/a/file"))
        say(result(core.mask_directory(dir .. "/secret")))
        say(read(dir .. "/secret/word"))
        say(sh("ls -A " .. dir .. "/secret | wc -l"))
        say(write(dir .. "/secret/new", "x"))
        say(sh("chmod 700 " .. dir .. "/secret"))
        say(read(dir .. "/link/word"))
        say(sh("mv " .. dir .. "/secret " .. dir .. "/elsewhere"))
        say((read(dir .. "/a/file"):gsub("\n", "")))
      ]])
      assert.equal("hush", lines[1])
      assert.equal("true", lines[2])
      assert.matches("No such file or directory$", lines[3])
      assert.equal("0", lines[4])
      assert.matches("Read%-only file system$", lines[5])
      assert.matches("Read%-only file system$", lines[6])
      assert.matches("No such file or directory$", lines[7])
      assert.matches("Device or resource busy$", lines[8])
      assert.equal("one", lines[9])
    end)

    it("over a file shows an empty one that is not to be opened nor changed", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say((read(dir .. "/key"):gsub("\n", "")))
        say(result(core.mask_file(dir .. "/key")))
        say(sh("stat -c '%a %s' " .. dir .. "/key"))
        say(sh("chmod 600 " .. dir .. "/key"))
        say(sh("ls " .. dir .. " | wc -l"))
        assert(core.drop_capabilities())
        say(read(dir .. "/key"))
        say(write(dir .. "/key", "x"))
        say(read(dir .. "/keylink"))
        say((read(dir .. "/a/file"):gsub("\n", "")))
      ]])
      assert.equal("hush", lines[1])
      assert.equal("true", lines[2])
      assert.equal("0 0", lines[3])
      assert.matches("Read%-only file system$", lines[4])
      assert.equal("7", lines[5])
      assert.matches("Permission denied$", lines[6])
      assert.is_true(lines[7]:find("Read%-only file system$") ~= nil or lines[7]:find("Permission denied$") ~= nil)
      assert.matches("Permission denied$", lines[8])
      assert.equal("one", lines[9])
    end)

    it("covers a file of the root directory too, and leaves /proc as it was", function()
      needs(who)
      -- Any file there will do; the mask is seen by this process alone.
      local file = throwaway.shell("find / -maxdepth 1 -type f | head -n 1")
      if file == "" then
        pending("no file in /")
      end
      local lines = run(
        who,
        ([[
        enter()
        say(result(core.mask_file(%q)))
        say(sh("stat -c '%%a %%s' " .. %q))
        say(tostring(io.open("/proc/self/status") ~= nil))
      ]]):format(file, file)
      )
      assert.same({ "true", "0 0", "true" }, lines)
    end)

    it("follows no symbolic link, tells files from directories, and names what is missing", function()
      needs(who)
      local lines = run(who, [[
        enter()
        say(result(core.mask_directory(dir .. "/link")))
        say(result(core.mask_file(dir .. "/keylink")))
        say(result(core.mask_file(dir .. "/here/key")))
        say(result(core.mask_directory(dir .. "/key")))
        say(result(core.mask_file(dir .. "/a")))
        say(result(core.mask_directory(dir .. "/none")))
        say(result(core.mask_file(dir .. "/none")))
        say((read(dir .. "/key"):gsub("\n", "")), (read(dir .. "/secret/word"):gsub("\n", "")))
      ]])
      for i, code in ipairs({ 40, 40, 40, 20, 21, 2, 2 }) do
        assert.matches("^" .. code .. " /", lines[i])
      end
      assert.equal("hush|hush", lines[8])
    end)
  end)
end

describe("a fresh /proc", function()
  it("shows nobody else, and cannot be written", function()
    local who = throwaway.everybody()[1]
    needs(who)
    if not core.probe().pidns then
      pending("no fresh /proc")
    elseif core.probe().uid ~= 0 then
      pending("only root keeps its capabilities when the child in the new namespace becomes a Lua")
    end
    local lines = run(who, [[
      if os.getenv("INNER") then
        say(result(core.mount_proc("/proc")))
        say(sh("ls -d /proc/[0-9]* | wc -l"))
        say((read("/proc/1/cmdline"):gsub("%z.*", "")))
        -- Opened alone, nothing is written.
        for _, file in ipairs({ "self/comm", "sys/kernel/core_pattern" }) do
          say(sh("true >>/proc/" .. file .. " && echo open"))
        end
        os.exit(true, true)
      end
      enter()
      say(sh("true >>/proc/self/comm && echo open"))
      assert(core.unshare_pid())
      local words, i = {}, 0
      while arg[i] do
        table.insert(words, 1, "'" .. arg[i] .. "'")
        i = i - 1
      end
      print(arg[i + 1])
      print(sh("INNER=1 exec " .. table.concat(words, " ")))
    ]])
    assert.equal("open", lines[1])
    assert.equal("true", lines[3])
    -- The Lua, its shell and its ls or wc.
    assert.is_true(tonumber(lines[4]) <= 4)
    assert.equal(lines[2], lines[5])
    assert.matches("Read%-only file system$", lines[6])
    assert.matches("Read%-only file system$", lines[7])
  end)
end)
