--- An operator's own tests of a policy: what it allows and denies, as the model judges it and, on request, as the kernel does.
---
---     policy("./strict.lua")
---     file("~/.ssh/id", "key")
---     denies.read("~/.ssh/id")
---     allows.write("./x")
---     gap("carve", hosts.docker)
---
--- The file runs in a closed state and only tells what it wants to know; the answers are found here. Where it makes files, they
--- stand in a throw-away home and workspace, and the tests are about those.

local check = require("procage.check")
local core = require("procage.core")
local fit = require("procage.fit")
local hosts = require("procage.host")
local kernel_test = require("procage.kernel_test")
local known_hosts = require("procage.hosts")
local model = require("procage.model")
local nearest = require("procage.nearest")
local path = require("procage.path")
local policy_room = require("procage.policy")
local profiles = require("procage.profile")
local resolve = require("procage.resolve")
local runner = require("procage.runner")
local script = require("procage.script")

---@class procage.TestResult
---@field at string  file:line
---@field text string  "denies read ~/.ssh/id"
---@field passed boolean
---@field why? string  of a failure, or the clause that decides
---@field real? "passed"|"failed"|"not tried"
---@field real_why? string

---@class procage.TestOptions
---@field root? string  the workspace, when the file makes no tree of its own; default: where the caller is
---@field home? string
---@field env? table<string, string>
---@field policy? string  wins over what the file says
---@field config? table  for policies that the file gives none
---@field real? boolean

local M = {}

---@param text string
local function mistake(told, text)
  error({ message = told.at .. ": " .. text })
end

-- ---- The tree ---------------------------------------------------------------------------------------------------------------

---@class procage.TestTree
---@field root string
---@field home string
---@field directory? string  to be removed
---@field lock? userdata
---@field servers? table[]  behind sockets in it

local Tree = {}
Tree.__index = Tree

function Tree:__close()
  if self.directory then
    for _, server in ipairs(self.servers) do
      server:close()
    end
    core.remove_tree(self.directory)
    self.lock:close()
  end
end

--- A path of the tests: `~` is home, `./x` and `x` lie in the workspace.
function Tree:place(told, text)
  local bad = check.text(text, told.kind)
  if bad then
    mistake(told, bad)
  end
  local expanded = path.expand_home(text, self.home)
  if path.has_parent_step(expanded) then
    mistake(told, ("%s: a path without .."):format(text))
  end
  return path.join(self.root, expanded)
end

local function make_tree(options, has_files)
  if not has_files then
    return setmetatable({ root = options.root, home = options.home }, Tree)
  end
  local base = core.real_path(options.home)
  local directory, lock
  if base then
    directory, lock = core.private_dir(base)
  end
  if not directory then
    error({ message = ("%s: no throw-away tree can be made there: %s"):format(options.home, tostring(lock)) })
  end
  local tree = {
    root = directory .. "/workspace",
    home = directory .. "/home",
    directory = directory,
    lock = lock,
    servers = {},
  }
  assert(core.make_dir(tree.root))
  assert(core.make_dir(tree.home))
  return setmetatable(tree, Tree)
end

--- Words that make something.
local MAKES = { file = true, directory = true, socket = true }

local function make_file(tree, told)
  local name = tree:place(told, told.arguments[1])
  if not path.is_beneath(name, tree.directory) then
    mistake(told, name .. ": files are made in the throw-away home (~/) and workspace (./) alone")
  end
  local uid = core.probe().uid
  local directory = told.kind == "directory" and name or path.parent(name)
  if not core.lstat(directory) and not resolve.make_directories(directory, uid) then
    mistake(told, directory .. ": cannot be made")
  elseif told.kind == "socket" then
    local server, message = core.outside("stream", name, "")
    if not server then
      mistake(told, ("%s: %s"):format(name, message))
    end
    table.insert(tree.servers, server)
  elseif told.kind == "file" then
    local handle, message = io.open(name, "wb")
    if not handle then
      mistake(told, message)
    end
    handle:write(tostring(told.arguments[2] or ""))
    handle:close()
  end
end

-- ---- Questions --------------------------------------------------------------------------------------------------------------

--- A policy, loaded when the first test asks for it.
---@return procage.Policy
local function loaded(section, tree, options)
  if not section.policy then
    -- Another one of the same, for who changes it.
    function section.load()
      return runner.load(options.policy or section.name or "speccoder", section.config, {
        root = tree.root,
        home = tree.home,
        env = options.env,
        explains = true,
      })
    end
    local policy, message = section.load()
    if not policy then
      error({ message = message })
    end
    section.policy = policy
  end
  return section.policy
end

local function view_of(section, policy)
  if not section.view then
    local view, message = policy:view()
    if not view then
      error({ message = message })
    end
    section.view = view
  end
  return section.view
end

---@return procage.TestResult
local function ask_access(told, target, section, tree, options)
  local wanted, op = told.kind:match("^(%a+)%.(%a+)$")
  local policy = loaded(section, tree, options)
  local view = view_of(section, policy)
  local is_path = op ~= "connect" and op ~= "bind" or type(target) == "string" and target:find("^[~./]") ~= nil
  local named = is_path and tree:place(told, target) or tostring(target)
  local object, message = model.object(view, op, named)
  if not object then
    mistake(told, message)
  end
  local verdict = model.judge(view, op, object)
  local result = {
    at = told.at,
    text = ("%s %s %s"):format(wanted, op, tostring(target)),
    passed = verdict.allowed == (wanted == "allows"),
    why = verdict.clause .. (verdict.note and ": " .. verdict.note or ""),
    ask = {
      op = op,
      kind = object.kind,
      path = object.path,
      name = object.name,
      address = object.address,
      port = object.port,
      wanted = wanted == "allows",
      section = section,
    },
  }
  if verdict.clause == "exists" or verdict.clause == "permissions" then
    -- Nothing is learnt of the policy from what nobody could do.
    result.passed = false
  end
  return result
end

---@return procage.TestResult
local function ask_gap(told, section, tree, options)
  local id, name = told.arguments[1], told.arguments[2]
  local bad = check.one_of(profiles.gap_ids)(id, told.kind)
  if bad then
    mistake(told, bad)
  end
  local policy = loaded(section, tree, options)
  local host = name and hosts.complete(known_hosts[name]) or policy.host
  local fitted, report = fit.fit(policy.profile, host, { extensions = policy.extensions })
  local result = { at = told.at, text = ("%s %s on %s"):format(told.kind:gsub("_", " "), id, name or "this machine") }
  if not fitted then
    result.passed, result.why = false, report
    return result
  end
  local found
  for _, row in ipairs(report) do
    found = found or row.state == "unenforced" and row.id == id and row or nil
  end
  result.passed = (found ~= nil) == (told.kind == "gap")
  result.why = found and ("%s: %s"):format(found.clause, found.effect or found.reason or "not enforced") or "no such gap there"
  return result
end

local function answer(told_list, tree, options)
  local results, section = {}, { config = options.config }
  for _, told in ipairs(told_list) do
    local first = told.arguments[1]
    if told.kind == "policy" then
      if type(first) ~= "string" then
        mistake(told, check.mismatch("policy", "a name or a file", first))
      end
      local name = policy_room.is_file(first) and path.join(options.directory, first) or first
      section = { name = name, config = section.config }
    elseif told.kind == "config" then
      if type(first) ~= "table" then
        mistake(told, check.mismatch("config", "a table", first))
      end
      section = { name = section.name, config = first }
    elseif told.kind == "gap" or told.kind == "no_gap" then
      results[#results + 1] = ask_gap(told, section, tree, options)
    elseif told.kind:find(".", 1, true) then
      if told.arguments.n == 0 then
        mistake(told, told.kind .. ": a target is missing")
      end
      for i = 1, told.arguments.n do
        results[#results + 1] = ask_access(told, told.arguments[i], section, tree, options)
      end
    end
  end
  return results
end

-- ---- Running ----------------------------------------------------------------------------------------------------------------

local function host_names()
  local names = {}
  for name in pairs(known_hosts) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- Words of a test file; each of the first two has the operations.
local WORDS = { "allows", "denies", "policy", "config", "file", "directory", "socket", "gap", "no_gap", "hosts" }

--- Lua's message of a misspelt word, with the nearest known one.
---@param message string
---@return string
local function with_hint(message)
  local name = message:match("a nil value %(global '([%w_]+)'%)")
  local field = message:match("a nil value %(field '([%w_]+)'%)")
  return message .. (name and nearest.hint(name, WORDS) or field and nearest.hint(field, model.operations) or "")
end

--- Runs a file of tests.
---@param file string
---@param options? procage.TestOptions
---@return procage.TestResult[]? results
---@return string? message  a mistake in the file, or a policy that cannot be loaded
function M.run(file, options)
  local cwd = assert(core.real_path("/proc/self/cwd"))
  options, file = options or {}, path.join(cwd, file)
  local text, message = script.read_file(file)
  if not text then
    return nil, message
  end
  local result, why = script.run("tests", text, file, nil, { host_names = host_names() })
  if not result then
    return nil, why and with_hint(why)
  end
  local settings = { directory = path.parent(file) or "/" }
  for key, value in pairs(options) do
    settings[key] = value
  end
  settings.root = options.root or cwd
  settings.home = options.home or os.getenv("HOME")
  local has_files = false
  for _, told in ipairs(result.told) do
    has_files = has_files or MAKES[told.kind] ~= nil
  end
  local ok, results = pcall(function()
    local tree <close> = make_tree(settings, has_files)
    for _, told in ipairs(result.told) do
      if MAKES[told.kind] then
        make_file(tree, told)
      end
    end
    local list = answer(result.told, tree, settings)
    local refusal = options.real and kernel_test.try(list, settings.env)
    if refusal then
      error({ message = refusal })
    end
    for _, entry in ipairs(list) do
      entry.ask = nil
    end
    return list
  end)
  if ok and #results == 0 then
    return nil, file .. ": asks nothing: allows.read(...), denies.write(...), gap(...)"
  elseif ok then
    return results
  elseif type(results) == "table" then
    return nil, results.message
  end
  error(results, 0)
end

--- Whether a result counts as passed.
---@param result procage.TestResult
---@return boolean
function M.passed(result)
  return result.passed and result.real ~= "failed"
end

return M
