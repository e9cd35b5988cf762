local core = require("procage.core")
local throwaway = require("spec.support.throwaway")

local E = {
  EPERM = 1, ENOENT = 2, EBADF = 9, EACCES = 13, EFAULT = 14, EINVAL = 22, ENOTTY = 25, ENOSYS = 38, EPROTONOSUPPORT = 93,
  ENOPROTOOPT = 92, ESOCKTNOSUPPORT = 94, EOPNOTSUPP = 95, EAFNOSUPPORT = 97,
}

local ALL = { groups = { "sysv", "kill_all", "peers", "listen" }, inet = true, datagram = true, tcp_only = true }

-- ---- a filter, read without a kernel ------------------------------------------------------------------------------------

local AUDIT_ARCH = { x86_64 = 0xc000003e, aarch64 = 0xc00000b7 }
local machine = throwaway.shell("uname -m")
local native = AUDIT_ARCH[machine]

-- Runs classic BPF over one struct seccomp_data. Returns the action and how many instructions it took.
local function evaluate(filter, nr, args, arch)
  local words = args or { 0, 0, 0, 0, 0, 0 }
  local data = string.pack("<I4I4I8I8I8I8I8I8I8", nr & 0xffffffff, arch or native, 0, table.unpack(words))
  local a, pc, steps = 0, 0, 0
  while true do
    local code, jt, jf, k = string.unpack("<I2I1I1I4", filter, pc * 8 + 1)
    pc, steps = pc + 1, steps + 1
    if code == 0x20 then -- load a word
      a = string.unpack("<I4", data, k + 1)
    elseif code == 0x54 then -- and
      a = a & k
    elseif code == 0x05 then -- jump
      pc = pc + k
    elseif code == 0x15 then -- equal
      pc = pc + (a == k and jt or jf)
    elseif code == 0x25 then -- greater
      pc = pc + (a > k and jt or jf)
    elseif code == 0x35 then -- greater or equal
      pc = pc + (a >= k and jt or jf)
    elseif code == 0x45 then -- any bit
      pc = pc + (a & k ~= 0 and jt or jf)
    elseif code == 0x06 then
      return k, steps
    else
      error(("instruction %d has the unknown code %#x"):format(pc - 1, code))
    end
  end
end

-- "allow", or the errno that the filter answers.
local function verdict(...)
  local action = evaluate(...)
  if action == 0x7fff0000 then
    return "allow"
  end
  assert(action & 0xffff0000 == 0x00050000, ("unexpected action %#x"):format(action))
  return action & 0xffff
end

describe("a filter", function()
  before_each(function()
    if not native then
      pending("the instructions are read on x86_64 and aarch64 only")
    end
  end)

  for name, spec in pairs({ ["without options"] = {}, ["with every option"] = ALL }) do
    it(name .. " answers for every number, in few steps", function()
      local filter = assert(core.seccomp_filter(spec))
      local most = 0
      assert.equal(0, #filter % 8)
      assert.is_true(#filter // 8 < 500, #filter // 8 .. " instructions")
      for nr = 0, 469 do
        local _, steps = evaluate(filter, nr)
        most = math.max(most, steps)
      end
      -- A chain over the sixty-odd calls would take as many steps.
      assert.is_true(most < 32, most .. " steps")
    end)

    it(name .. " refuses every call that is newer than it, with ENOSYS", function()
      local filter = assert(core.seccomp_filter(spec))
      assert.equal("allow", verdict(filter, 468))
      for _, nr in ipairs({ 470, 471, 500, 512, 547, 1000, 0x3fffffff, 0x7fffffff, 0x80000000, 0xfffffffe }) do
        assert.equal(E.ENOSYS, verdict(filter, nr), nr)
      end
    end)

    it(name .. " refuses leases and delegations, which make others wait, and no other fcntl", function()
      local filter = assert(core.seccomp_filter(spec))
      local fcntl = core.seccomp_call("fcntl")
      for _, command in ipairs({ 1024, 1040, 1024 | 1 << 32 }) do
        assert.equal(E.EPERM, verdict(filter, fcntl, { 3, command, 0, 0, 0, 0 }), command)
      end
      for _, command in ipairs({ 0, 1, 2, 3, 4, 6, 1025, 1030, 1031, 1033, 1039 }) do
        assert.equal("allow", verdict(filter, fcntl, { 3, command, 0, 0, 0, 0 }), command)
      end
    end)

    it(name .. " refuses the numbers of x32, with ENOSYS", function()
      local filter = assert(core.seccomp_filter(spec))
      for nr = 0, 600 do
        assert.equal(E.ENOSYS, verdict(filter, 0x40000000 | nr))
      end
    end)

    it(name .. " refuses every call of another architecture, with ENOSYS", function()
      local filter = assert(core.seccomp_filter(spec))
      for _, arch in ipairs({ 0x40000003, 0xc000003e, 0xc00000b7, 0x40000028, 0 }) do
        if arch ~= native then
          for nr = 0, 500 do
            assert.equal(E.ENOSYS, verdict(filter, nr, nil, arch))
          end
        end
      end
    end)
  end

  it("leaves a tracer's -1 alone", function()
    assert.equal("allow", verdict(assert(core.seccomp_filter({})), -1))
  end)

  it("is the same each time", function()
    assert.equal(core.seccomp_filter(ALL), core.seccomp_filter(ALL))
    assert.equal(core.seccomp_filter({}), core.seccomp_deny_net())
  end)

  it("leaves sandboxes, debuggers and metadata alone", function()
    local filter = assert(core.seccomp_filter(ALL))
    local numbers = { ptrace = 117, process_vm_readv = 270, kcmp = 272, seccomp = 277, prctl = 167, fchmod = 52 }
    if machine == "x86_64" then
      numbers = { ptrace = 101, process_vm_readv = 310, kcmp = 312, seccomp = 317, prctl = 157, fchmod = 91 }
    end
    for name, nr in pairs(numbers) do
      assert.equal("allow", verdict(filter, nr), name)
    end
    for nr = 444, 466 do -- landlock_create_ruleset to removexattrat
      assert.equal("allow", verdict(filter, nr), nr)
    end
    assert.equal("allow", verdict(filter, 438), "pidfd_getfd")
  end)
end)

describe("seccomp_filter", function()
  it("raises an error that names an unknown option, group or type", function()
    local function raises(spec, message)
      assert.error_matches(function()
        core.seccomp_filter(spec)
      end, message)
    end
    raises({ internet = true }, "unknown option 'internet'")
    raises({ groups = { "sysv", "mounts" } }, "unknown group 'mounts'")
    raises({ groups = "sysv" }, "option 'groups' is not a list")
    raises({ groups = { sysv = true } }, "option 'groups' is not a list")
    raises({ groups = { "sysv", nil, "listen" } }, "option 'groups'")
    raises({ groups = { 1 } }, "option 'groups' holds something that is no name")
    raises({ no_unix = "yes" }, "option 'no_unix' is not a boolean")
    assert.is_nil((core.seccomp_filter({ mediated = true, no_unix = true })))
    assert.is_nil((core.seccomp_filter({ loopback = true })))
    assert.is_nil((core.seccomp_filter({ loopback = true, inet = true })))
    assert.is_nil((core.seccomp_filter({ loopback = true, inet = true, tcp_only = true, datagram = true })))
    assert.is_nil((core.seccomp_filter({ loopback = true, inet = true, tcp_only = true, no_unix = true })))
    raises({ inet = 1 }, "option 'inet' is not a boolean")
    raises(nil, "table expected")
  end)
end)

describe("the table of refused calls", function()
  it("gives each call once, with its errno, its kernel and its reasons", function()
    local seen = {}
    for _, row in ipairs(core.seccomp_refused_calls()) do
      assert.is_nil(seen[row.name], row.name)
      seen[row.name] = true
      assert.is_true(row.error == E.EPERM or row.error == E.EACCES or row.error == E.ENOSYS, row.name)
      assert.matches("^%d+%.%d+", row.since)
      assert.is_true(#row.why > 0 and #row.notice > 0 and #row.groups > 0, row.name)
    end
    assert.is_true(seen.open_tree_attr and seen.io_uring_setup and seen.mount_setattr and seen.clone3)
  end)
end)

describe("seccomp_install", function()
  it("raises an error for what cannot be a filter", function()
    for _, program in ipairs({ "", "seven..", ("x"):rep(8 * 4097) }) do
      assert.has_error(function()
        core.seccomp_install(program)
      end)
    end
    assert.has_error(function()
      core.seccomp_install(12345678)
    end)
  end)

  for _, who in ipairs(throwaway.everybody()) do
    it("hands on what the kernel says to " .. who.name, function()
      if who.missing then
        pending(who.missing)
      end
      local output = throwaway.lua(who, [[
        local filter = core.seccomp_deny_net()
        if io.popen("id -u"):read("n") ~= 0 then
          print((select(2, core.seccomp_install(filter))))
        else
          print("seccomp: Permission denied")
        end
        assert(core.no_new_privs())
        print(core.seccomp_install(("\0"):rep(8)))
        print(core.seccomp_install(filter))
      ]])
      assert.equal("seccomp: Permission denied\nnil\tseccomp: Invalid argument\t22\ntrue", output)
    end)
  end
end)

-- ---- against the kernel -------------------------------------------------------------------------------------------------

-- call NAME,ARG... ...: makes each call and prints its value, or its errno below zero. "#N" is a number, "int80" getpid by the
-- 32-bit gate.
local CALL_C = [[
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; long nr; } names[] = {
@NAMES@
	{ NULL, 0 },
};

static long number(const char *name)
{
	if (name[0] == '#')
		return strtol(name + 1, NULL, 0);
	for (int i = 0; names[i].name; i++)
		if (!strcmp(names[i].name, name))
			return names[i].nr;
	return -2;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		unsigned long a[6] = { 0 };
		char *name = strtok(argv[i], ","), *word;
		long nr, ret;

		for (int n = 0; n < 6 && (word = strtok(NULL, ",")); n++)
			a[n] = strtoul(word, NULL, 0);
#if defined(__x86_64__)
		if (!strcmp(name, "int80")) {
			__asm__ volatile("int $0x80" : "=a"(ret) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
			printf("%ld\n", ret);
			continue;
		}
#endif
		nr = number(name);
		if (nr == -2) {
			puts("absent");
			continue;
		}
		ret = syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (ret == 0 && !strcmp(name, "clone"))
			_exit(0);
		printf("%ld\n", ret < 0 ? -(long)errno : ret);
		fflush(stdout);
	}
	return 0;
}
]]

-- Arguments that do nothing even to root where nothing refuses the call; all others get -1.
local HARMLESS = {
  init_module = { 0, 0, 0 }, shmget = { 0x70726f63, 0, 0 }, msgget = { 0x70726f63, 0 }, semget = { 0x70726f63, 0, 0 },
}

local MORE = {
  "socket", "socketpair", "clone", "unshare", "ioctl", "personality", "move_pages", "migrate_pages", "kill", "setpriority",
  "prlimit64", "setrlimit", "sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set", "sendto", "sendmsg",
  "sendmmsg",
  "setsockopt", "getpid", "landlock_create_ruleset", "openat", "mknodat", "mkdirat", "fchmod", "fchmodat",
}

describe("against the kernel,", function()
  local dir, helper, missing

  setup(function()
    dir = throwaway.directory()
    local names, seen = {}, {}
    local function add(name)
      if not seen[name] then
        seen[name] = true
        names[#names + 1] = ("#ifdef SYS_%s\n\t{ \"%s\", SYS_%s },\n#endif"):format(name, name, name)
      end
    end
    for _, row in ipairs(core.seccomp_refused_calls()) do
      add(row.name)
    end
    for _, name in ipairs(MORE) do
      add(name)
    end
    local source = CALL_C:gsub("@NAMES@", (table.concat(names, "\n"):gsub("%%", "%%%%")))
    throwaway.write(dir.path .. "/call.c", source)
    helper = dir.path .. "/call"
    local output, ok = throwaway.shell(("cd %s && ${CC:-cc} -O1 -o call call.c"):format(throwaway.quote(dir.path)))
    if not ok then
      missing = "no C compiler for the helper: " .. output
    end
  end)

  teardown(function()
    throwaway.shell("rm -rf -- " .. throwaway.quote(dir.path))
  end)

  local function lines(text)
    local list = {}
    for line in text:gmatch("[^\n]+") do
      list[#list + 1] = tonumber(line) or line
    end
    return list
  end

  local function serialise(spec)
    local groups = {}
    for i, group in ipairs(spec.groups or {}) do
      groups[i] = ("%q"):format(group)
    end
    return ("{ groups = { %s }, inet = %s, datagram = %s, tcp_only = %s, no_unix = %s, loopback = %s }"):format(
      table.concat(groups, ", "), spec.inet == true, spec.datagram == true, spec.tcp_only == true, spec.no_unix == true,
      spec.loopback == true)
  end

  -- The answers to `calls` ("name,arg..."), unconfined and then confined by `spec`.
  local function answers(who, spec, calls)
    if missing or who.missing then
      pending(missing or who.missing)
    end
    local command = { throwaway.quote(helper) }
    for _, call in ipairs(calls) do
      command[#command + 1] = throwaway.quote(call)
    end
    command = table.concat(command, " ")
    local control = throwaway.shell(who.prefix .. command)
    local confined = throwaway.lua(who, ([[
      local filter = assert(core.seccomp_filter(%s))
      assert(core.no_new_privs())
      assert(core.seccomp_install(filter))
      os.execute(%q)
    ]]):format(serialise(spec), command))
    local c, f = lines(control), lines(confined)
    assert.equal(#calls, #c, control)
    assert.equal(#calls, #f, confined)
    return c, f
  end

  -- rows: { call, control, confined }; control "any" where the host decides, "ok" is any value from 0.
  local function expect(who, spec, rows)
    local calls = {}
    for i, row in ipairs(rows) do
      calls[i] = row[1]
    end
    local control, confined = answers(who, spec, calls)
    local function check(wanted, got, what)
      if wanted == "ok" then
        assert.is_true(math.type(got) == "integer" and got >= 0, ("%s: %s"):format(what, got))
      elseif wanted ~= "any" then
        assert.equal(-wanted, got, what)
      end
    end
    for i, row in ipairs(rows) do
      check(row[2], control[i], "unconfined " .. row[1])
      check(row[3], confined[i], "confined " .. row[1])
    end
  end

  for _, who in ipairs(throwaway.everybody()) do
    describe(who.name, function()
      it("gets the table's errno for each refused call", function()
        local rows, calls = {}, {}
        for _, row in ipairs(core.seccomp_refused_calls()) do
          -- vhangup has no argument that makes it harmless to the terminal of whoever runs this.
          if row.name ~= "vhangup" then
            local args = HARMLESS[row.name] or { -1, -1, -1, -1, -1 }
            rows[#rows + 1] = row
            calls[#calls + 1] = (row.number and "#" .. row.number or row.name) .. "," .. table.concat(args, ",")
          end
        end
        local control, confined = answers(who, ALL, calls)
        local shown = 0
        for i, row in ipairs(rows) do
          if confined[i] ~= "absent" then
            assert.equal(-row.error, confined[i], row.name)
            shown = shown + (control[i] ~= confined[i] and 1 or 0)
          end
        end
        -- An ordinary user is refused many of them anyway, and no kernel has all.
        assert.is_true(shown > #rows // 4, shown .. " of " .. #rows .. " refusals are the filter's")
      end)

      it("makes AF_UNIX and NETLINK_ROUTE sockets, and no other, without inet", function()
        expect(who, {}, {
          { "socket,1,1,0", "ok", "ok" },
          { "socket,1,0x80801,0", "ok", "ok" },
          { "socket,16,3,0", "ok", "ok" },
          { "socket,16,3,4", "any", E.EPROTONOSUPPORT },
          { "socket,2,1,0", "ok", E.EACCES },
          { "socket,2,2,0", "ok", E.EACCES },
          { "socket,10,1,0", "any", E.EACCES },
          { "socket,17,3,0", "any", E.EAFNOSUPPORT },
          { "socket,38,5,0", "any", E.EAFNOSUPPORT },
          { "socket,40,1,0", "any", E.EAFNOSUPPORT },
          { "socket,0,1,0", "any", E.EAFNOSUPPORT },
          { "socketpair,1,1,0,0", E.EFAULT, E.EFAULT },
          { "socketpair,2,1,0,0", "any", E.EAFNOSUPPORT },
          { "socketpair,0x10000001e,1,0,0", "any", E.EAFNOSUPPORT },
        })
      end)

      it("makes no AF_UNIX socket with no_unix, but for pairs that name no third party", function()
        expect(who, { no_unix = true, inet = true }, {
          { "socket,1,1,0", "ok", E.EACCES },
          { "socket,1,2,0", "ok", E.EACCES },
          { "socket,1,0x80805,0", "ok", E.EACCES },
          { "socket,0x100000001,1,0", "ok", E.EACCES },
          { "socketpair,1,1,0,0", E.EFAULT, E.EFAULT },
          { "socketpair,1,0x80805,0,0", E.EFAULT, E.EFAULT },
          { "socketpair,1,2,0,0", E.EFAULT, E.ESOCKTNOSUPPORT },
          { "socketpair,1,3,0,0", E.EFAULT, E.ESOCKTNOSUPPORT },
          { "socketpair,1,0x100000002,0,0", E.EFAULT, E.ESOCKTNOSUPPORT },
          { "socket,16,3,0", "ok", "ok" },
          { "socket,2,1,0", "ok", "ok" },
        })
      end)

      it("cannot pass the family, the type or the protocol by their upper halves", function()
        expect(who, {}, {
          { "socket,0x100000002,1,0", "ok", E.EACCES },
          { "socket,0xffffffff00000002,1,0", "ok", E.EACCES },
          { "socket,0x100000001,1,0", "ok", "ok" },
          { "socket,16,3,0x100000004", "any", E.EPROTONOSUPPORT },
        })
        expect(who, { inet = true }, {
          { "socket,2,0x100000001,0", "ok", "ok" },
          { "socket,2,0x100000002,0", "ok", E.EACCES },
        })
      end)

      it("makes TCP sockets with inet, datagram ones only when allowed", function()
        expect(who, { inet = true }, {
          { "socket,2,1,0", "ok", "ok" },
          { "socket,2,0x80801,6", "ok", "ok" },
          { "socket,2,2,0", "ok", E.EACCES },
          { "socket,2,3,1", "any", E.EACCES },
          { "socket,40,1,0", "any", E.EAFNOSUPPORT },
        })
        expect(who, { inet = true, datagram = true }, {
          { "socket,2,1,0", "ok", "ok" },
          { "socket,2,2,17", "ok", "ok" },
          { "socket,2,10,3", "any", E.EACCES },
          { "socket,17,3,0", "any", E.EAFNOSUPPORT },
        })
      end)

      it("cannot go round Landlock's TCP rules by another protocol or by Fast Open", function()
        local rows = {
          { "socket,2,1,0", "ok", "ok" },
          { "socket,2,1,6", "ok", "ok" },
          { "socket,2,1,262", "any", E.EACCES },
          { "socket,2,1,132", "any", E.EACCES },
          { "socket,2,1,256", "any", E.EACCES },
          { "socket,2,5,132", "any", E.EACCES },
          { "socket,43,1,0", "any", E.EAFNOSUPPORT },
          { "sendto,-1,0,0,0x20000000,0,0", E.EBADF, E.EOPNOTSUPP },
          { "sendto,-1,0,0,0xf20004040,0,0", E.EBADF, E.EOPNOTSUPP },
          { "sendto,-1,0,0,0x4040,0,0", E.EBADF, E.EBADF },
          { "sendmsg,-1,0,0x20000000", E.EBADF, E.EOPNOTSUPP },
          { "sendmsg,-1,0,0x4000", E.EBADF, E.EBADF },
          { "sendmmsg,-1,0,0,0x20000000", "any", E.EOPNOTSUPP },
          { "setsockopt,-1,6,30,0,0", E.EBADF, E.EOPNOTSUPP },
          { "setsockopt,-1,0x100000006,0x10000001e,0,0", E.EBADF, E.EOPNOTSUPP },
          { "setsockopt,-1,6,31,0,0", E.EBADF, E.ENOENT },
          { "setsockopt,-1,6,1,0,0", E.EBADF, E.EBADF },
          { "setsockopt,-1,1,30,0,0", E.EBADF, E.EBADF },
        }
        expect(who, { inet = true, tcp_only = true }, rows)
        expect(who, { inet = true, tcp_only = true, datagram = true }, rows)
        expect(who, { inet = true, tcp_only = true, datagram = true }, {
          { "socket,2,2,0", "ok", "ok" },
          { "socket,2,2,17", "ok", "ok" },
          { "socket,2,2,1", "any", E.EACCES },
          { "socket,2,3,255", "any", E.EACCES },
        })
        expect(who, { inet = true }, {
          { "sendto,-1,0,0,0x20000000,0,0", E.EBADF, E.EBADF },
          { "setsockopt,-1,6,30,0,0", E.EBADF, E.EBADF },
        })
      end)

      it("sets no option that leads a loopback socket elsewhere, or shares its address", function()
        expect(who, { loopback = true, inet = true, tcp_only = true }, {
          { "socket,2,1,0", "ok", "ok" },
          { "socket,10,1,6", "any", "ok" },
          { "socket,2,2,0", "ok", E.EACCES },
          { "socket,2,1,262", "any", E.EACCES },
          { "sendto,-1,0,0,0x20000000,0,0", E.EBADF, E.EOPNOTSUPP },
          { "setsockopt,-1,6,30,0,0", E.EBADF, E.EOPNOTSUPP },
          { "setsockopt,-1,6,1,0,0", E.EBADF, E.EBADF },
          { "setsockopt,-1,1,2,0,0", E.EBADF, E.EBADF },
          { "setsockopt,-1,1,15,0,0", E.EBADF, E.ENOPROTOOPT },
          { "setsockopt,-1,0x100000001,0x10000000f,0,0", E.EBADF, E.ENOPROTOOPT },
          { "setsockopt,-1,1,25,0,0", E.EBADF, E.EPERM },
          { "setsockopt,-1,1,62,0,0", E.EBADF, E.EPERM },
          { "setsockopt,-1,0,1,0,0", E.EBADF, E.EBADF },
          { "setsockopt,-1,0,4,0,0", E.EBADF, E.ENOPROTOOPT },
          { "setsockopt,-1,0,19,0,0", E.EBADF, E.ENOPROTOOPT },
          { "setsockopt,-1,0,35,0,0", E.EBADF, E.ENOPROTOOPT },
          { "setsockopt,-1,41,26,0,0", E.EBADF, E.EBADF },
          { "setsockopt,-1,41,57,0,0", E.EBADF, E.ENOPROTOOPT },
          { "setsockopt,-1,41,1,0,0", E.EBADF, E.ENOPROTOOPT },
          { "setsockopt,-1,41,75,0,0", E.EBADF, E.ENOPROTOOPT },
          { "setsockopt,-1,270,1,0,0", E.EBADF, E.EBADF },
        })
        expect(who, { inet = true, tcp_only = true }, {
          { "setsockopt,-1,1,15,0,0", E.EBADF, E.EBADF },
          { "setsockopt,-1,0,4,0,0", E.EBADF, E.EBADF },
        })
      end)

      it("makes processes, but no namespaces", function()
        expect(who, {}, {
          { "clone,17,0,0,0,0", "ok", "ok" },
          { "clone,0x10000011,0,0,0,0", "any", E.EPERM },
          { "clone,0x110000011,0,0,0,0", "any", E.EPERM },
          { "clone,0x20011,0,0,0,0", "any", E.EPERM },
          { "clone,0x40000011,0,0,0,0", "any", E.EPERM },
          { "#435,0,0", "any", E.ENOSYS },
          { "unshare,0", "ok", "ok" },
          { "unshare,0x400", "ok", "ok" },
          { "unshare,0x40600", "ok", "ok" },
          { "unshare,0x80", "any", E.EPERM },
          { "unshare,0x100000", "any", E.EPERM },
          { "unshare,0x10000000", "any", E.EPERM },
          { "unshare,0x10000400", "any", E.EPERM },
          { "unshare,0x100000000", E.EINVAL, E.EPERM },
        })
      end)

      it("asks of a descriptor what is listed, also with upper bits set, and nothing else", function()
        local rows = {}
        for _, request in ipairs({
          0x5412, 0x541c, 0x540c, 0x541d, 0x5423, 0x5437, -- TIOCSTI, TIOCLINUX, TIOCEXCL, TIOCCONS, TIOCSETD, TIOCVHANGUP
          0x50009401, 0x5000940e, 0x4008941a, 0x50009417, -- BTRFS_IOC_SNAP_CREATE, _SUBVOL_CREATE, _SUBVOL_SETFLAGS, _V2
          -- FS_IOC_ADD_ENCRYPTION_KEY, _REMOVE_, _ALL_USERS, _SET_ENCRYPTION_POLICY
          0xc0506617, 0xc0406618, 0xc0406619, 0x800c6613,
          0x40086602, 0x401c5820, 0x40806685, 0x8004587d, -- FS_IOC_SETFLAGS, _FSSETXATTR, _ENABLE_VERITY, _SHUTDOWN
          0xc0045877, 0xc0045878, 1, 0x41009432, -- FIFREEZE, FITHAW, FIBMAP, FS_IOC_SETFSLABEL
          0x8914, 0x2285, 0x4c00, 0xae01, 0, 0xffffffff, -- SIOCSIFFLAGS, SG_IO, LOOP_SET_FD, KVM_CREATE_VM
        }) do
          for _, upper in ipairs({ 0, 1 << 32, ~0 << 32 }) do
            rows[#rows + 1] = { ("ioctl,-1,%#x,0"):format(request | upper), E.EBADF, E.ENOTTY }
          end
        end
        for _, request in ipairs({
          2, 0x5401, 0x5413, 0x5421, 0x541b, 0x5451, 0x5460, 0x8912, 0x8946, 0xb703, 0x40049409, 0x4020940d, 0xc0189436,
          0x80086601, 0x802c542a, 0xc020660b, 0xc0686611,
        }) do
          rows[#rows + 1] = { ("ioctl,-1,%#x,0"):format(request), E.EBADF, E.EBADF }
          rows[#rows + 1] = { ("ioctl,-1,%#x,0"):format(request | 1 << 32), E.EBADF, E.EBADF }
        end
        expect(who, {}, rows)
      end)

      it("makes no file with a set-ID bit, also with upper bits set, and sets none", function()
        -- Addresses that cannot be read: what a filter lets through gets as far as that.
        local function opens(flags, mode)
          return ("openat,-100,1,%#x,%#x"):format(flags, mode)
        end
        local rows = { { "#437,-100,1,1,24", "any", E.ENOSYS } }
        for _, mode in ipairs({ 0x800, 0x400, 0xc00, 0x5a4 | 1 << 32, 0x1000009ed }) do -- 04000, 02000, 06000, 02644, 04755
          rows[#rows + 1] = { opens(0x41, mode), E.EFAULT, E.EPERM }
          rows[#rows + 1] = { opens(0x100000041, mode), E.EFAULT, E.EPERM }
          rows[#rows + 1] = { opens(0x410002, mode), E.EFAULT, E.EPERM }
          rows[#rows + 1] = { opens(0, mode), E.EFAULT, E.EFAULT }
          rows[#rows + 1] = { ("mknodat,-100,1,%#x,0"):format(mode | 0x8000), E.EFAULT, E.EPERM }
          rows[#rows + 1] = { ("fchmodat,-100,1,%#x"):format(mode), E.EFAULT, E.EPERM }
          rows[#rows + 1] = { ("fchmod,-1,%#x"):format(mode), E.EBADF, E.EPERM }
        end
        rows[#rows + 1] = { opens(0x41, 0x3ff), E.EFAULT, E.EFAULT } -- 01777
        rows[#rows + 1] = { "mknodat,-100,1,0x81ff,0", E.EFAULT, E.EFAULT }
        rows[#rows + 1] = { "fchmodat,-100,1,0x3ff", E.EFAULT, E.EFAULT }
        rows[#rows + 1] = { "mkdirat,-100,1,0xfff", E.EFAULT, E.EFAULT }
        if machine == "x86_64" then
          rows[#rows + 1] = { "#85,1,0xc00", E.EFAULT, E.EPERM } -- creat
          rows[#rows + 1] = { "#2,1,0x41,0xc00", E.EFAULT, E.EPERM } -- open
          rows[#rows + 1] = { "#133,1,0x8800,0", E.EFAULT, E.EPERM } -- mknod
          rows[#rows + 1] = { "#90,1,0x400", E.EFAULT, E.EPERM } -- chmod
        end
        expect(who, {}, rows)
      end)

      it("keeps the personalities of setarch and gdb only", function()
        expect(who, {}, {
          { "personality,0xffffffff", "ok", "ok" },
          { "personality,0x40000", "ok", "ok" },
          { "personality,0x20008", "ok", "ok" },
          { "personality,0x60000", "ok", "ok" },
          { "personality,0", "ok", "ok" },
          { "personality,0x400000", "ok", E.EPERM },
          { "personality,0x100400000", "ok", E.EPERM },
          { "personality,0x440000", "ok", E.EPERM },
          { "personality,0x100000", "ok", E.EPERM },
          { "personality,0", "ok", "ok" },
        })
      end)

      it("moves its own pages, not those of others", function()
        expect(who, {}, {
          { "move_pages,0,0,0,0,0,2", "any", "any" },
          { "move_pages,1,0,0,0,0,2", "any", E.EPERM },
          { "migrate_pages,1,0,0,0", "any", E.EPERM },
        })
        local control, confined = answers(who, {}, { "move_pages,0,0,0,0,0,2", "migrate_pages,0,0,0,0" })
        assert.same(control, confined)
      end)

      it("cannot limit or reschedule another process", function()
        -- An address that cannot be read: the control gets as far as that.
        local rows = {
          { "prlimit64,0,7,1,0", E.EFAULT, E.EFAULT },
          { "prlimit64,0,7,0,0", "ok", "ok" },
          { "prlimit64,1,7,0,0", "any", "any" },
          { "prlimit64,1,7,1,0", "any", E.EPERM },
          { "prlimit64,99999999,7,1,0", "any", E.EPERM },
          { "sched_setscheduler,99999999,0,1", "any", E.EPERM },
          { "sched_setscheduler,0,0,1", E.EFAULT, E.EFAULT },
          { "sched_setparam,99999999,1", "any", E.EPERM },
          { "sched_setattr,99999999,1,0", "any", E.EPERM },
          { "setpriority,0,99999999,0", "any", E.EPERM },
          { "setpriority,0,0,0", "ok", "ok" },
          { "setpriority,2,0,0", "any", E.EPERM },
        }
        expect(who, { groups = { "peers" } }, rows)
        expect(who, {}, { { "prlimit64,1,7,1,0", "any", E.EPERM }, { "prlimit64,0,7,1,0", E.EFAULT, E.EFAULT } })
      end)

      it("keeps the limit on core dumps, and is told that all went well", function()
        expect(who, {}, {
          { "prlimit64,0,4,1,0", E.EFAULT, "ok" },
          { "prlimit64,0,4,1,1", "any", E.EPERM },
          { "prlimit64,0,4,0,0", "ok", "ok" },
          { "setrlimit,4,1", E.EFAULT, "ok" },
          { "setrlimit,7,1", E.EFAULT, E.EFAULT },
        })
      end)

      it("cannot signal or slow down every process of the user at once", function()
        -- Signal 0 and users that do not exist: the control does nothing.
        local rows = {
          { "kill,-1,0", "any", E.EPERM },
          { "kill,0xffffffff,0", "any", E.EPERM },
          { "kill,0x7fffffffffffffff,0", "any", E.EPERM },
          { "kill,0,0", "ok", "ok" },
          { "setpriority,2,99999,0", "any", E.EPERM },
          { "setpriority,0,0,0", "ok", "ok" },
          { "ioprio_set,3,99999,0x4004", "any", E.EPERM },
          { "ioprio_set,1,0,0x4004", "ok", "ok" },
        }
        expect(who, { groups = { "kill_all" } }, rows)
        local control, confined = answers(who, {}, { "setpriority,2,99999,0", "ioprio_set,3,99999,0x4004" })
        assert.same(control, confined)
      end)

      it("listens and shares memory unless the group says otherwise", function()
        local shmget = "shmget,0x70726f63,0,0"
        local control, confined = answers(who, {}, { "listen,-1,1", shmget })
        assert.equal(-E.EBADF, control[1])
        assert.same(control, confined)
        expect(who, { groups = { "listen" } }, { { "listen,-1,1", E.EBADF, E.EACCES }, { shmget, "any", E.ENOENT } })
        expect(who, { groups = { "sysv" } }, { { "listen,-1,1", E.EBADF, E.EBADF }, { shmget, "any", E.ENOSYS } })
      end)

      it("gets ENOSYS for calls newer than the filter, by number", function()
        expect(who, {}, {
          { "#470,0", "any", E.ENOSYS },
          { "#471,0", "any", E.ENOSYS },
          { "#600,0", "any", E.ENOSYS },
          { "getpid", "ok", "ok" },
          { "landlock_create_ruleset,0,0,1", "any", "any" },
        })
      end)

      it("reaches no 32-bit call from a 64-bit program", function()
        if machine ~= "x86_64" then
          pending("int $0x80 is x86")
        end
        local control = answers(who, {}, { "int80" })
        if control[1] <= 0 then
          pending("this kernel has no 32-bit calls")
        end
        expect(who, {}, { { "int80", "ok", E.ENOSYS } })
      end)

      it("runs ordinary programs with every option on", function()
        if who.missing then
          pending(who.missing)
        end
        local output = throwaway.lua(who, ([[
          assert(core.no_new_privs())
          assert(core.seccomp_install(assert(core.seccomp_filter(%s))))
          os.execute("for i in 1 2 3; do echo $i; done | sort -r | head -n 1; (sleep 0 & wait); id -u > /dev/null")
        ]]):format(serialise(ALL)))
        assert.equal("3", output)
      end)
    end)
  end
end)
