--- procage: confines what a command may do, with the kernel's own means.
---
---     local procage = require("procage")
---     local policy = assert(procage.policy.load("speccoder", {}, { root = "/srv/project" }))
---     local outcome = policy:run({ "make", "test" })

local confine = require("procage.confine")
local core = require("procage.core")
local fit = require("procage.fit")
local hosts = require("procage.host")
local policy = require("procage.policy")
local profile = require("procage.profile")
local runner = require("procage.runner")

local M = { version = core.version, profile = profile, fit = fit.fit }

--- What this machine offers, each fact tried.
---@return procage.Host
function M.probe()
  return hosts.complete(core.probe())
end

M.confine_parent = confine.parent

M.policy = {
  load = runner.load,
  load_script = policy.load_script,
  build_profile = policy.build_profile,
  narrow = policy.narrow,
  compose = policy.compose,
}

--- Loaded when they are asked for, since a run of the program does not need them: the module, and the name in it.
local later = {
  hosts = { "procage.hosts" },
  -- What a harness runs its commands with: runner(root, config, options), runner_at(root, options).
  runner = { "procage.harness", "new" },
  runner_at = { "procage.harness", "at" },
  -- Whether this machine can confine anything, and with what.
  available = { "procage.harness", "available" },
  backend = { "procage.harness", "backend" },
  -- The [sandbox] table: config.parse(text or table, source).
  config = { "procage.config" },
  -- Which file a command's first word means: resolve_executable(program, cwd, env).
  resolve_executable = { "procage.executable", "resolve" },
  -- Whether a run could do something, and what decides: why(policy, op, target).
  why = { "procage.why", "ask" },
  -- For who writes policies: check(file), test(file, options), learn(policy, cmd), doctor(options).
  check = { "procage.checking", "file" },
  test = { "procage.policy_test", "run" },
  learn = { "procage.learn", "run" },
  doctor = { "procage.doctor", "of" },
  -- Spettro's sandbox, made of four settings: spettro.load(options).
  spettro = { "procage.spettro" },
  -- Around a run: what a policy says of a call before it, what it changed, secrets in its output.
  classify = { "procage.classify" },
  guard = { "procage.guard" },
  mask = { "procage.mask" },
}

return setmetatable(M, {
  __index = function(_, key)
    local entry = later[key]
    if entry then
      local module = require(entry[1])
      M[key] = entry[2] and module[entry[2]] or module
      return M[key]
    end
  end,
})
