--- A harness in small, for a stock Lua 5.4: runs a workspace's test command confined, shows its output as it comes and what was
--- refused, and ends a command that takes too long for it.
---
---     lua5.4 run_tests.lua WORKSPACE

local procage = require("procage")

-- Refused files are told of too: by default it is calls and connections alone.
local config = { limits = { timeout_ms = 60000 }, denials = "paths" }
local policy = assert(procage.policy.load("speccoder", config, { root = arg[1] }))

-- A test command that builds something, and would leave a file outside of its workspace.
local outcome = assert(policy:run({
  "sh",
  "-c",
  "echo building; echo kept >result; echo lost >~/outside || exit 3",
  on_output = function(stream, bytes)
    io.write(stream, ": ", bytes)
  end,
}))
print("test: exit status " .. outcome.status)
for _, denial in ipairs(outcome.denials.denied) do
  print(denial.text)
end

-- What the policy has to say of that file.
local answer = assert(policy:why("write", "~/outside"))
print("outside: " .. (answer.allowed and "allowed" or "refused"))

-- One thread does both: it steps the run, and asks for its end once it has waited for long enough.
local run <close> = assert(policy:start({ "sleep", "60" }))
local is_cancelled = false
while run:step(200) do
  if not is_cancelled then
    run:cancel()
    is_cancelled = true
  end
end
print("sleep: " .. (is_cancelled and run:finish().status ~= 0 and "cancelled" or "ended"))
