--- A started run, for a caller with a loop of his own: its output as it comes, input while it runs, an end before its time.
---
---     local run <close> = assert(policy:start({ "make" }))
---     for chunks in run:steps() do
---       for _, chunk in ipairs(chunks) do print(chunk.stream, #chunk.bytes) end
---     end
---     local outcome = run:wait()
---
--- Nothing happens between two steps: the command waits once its pipe is full, and a deadline is kept by the next step. So a
--- coroutine steps with a time of 0 and yields.

local M = {}

---@class procage.Run
---@field outcome? procage.Outcome  once it is over
local Run = {}
Run.__index = Run

---@class procage.Chunk
---@field stream "stdout"|"stderr"
---@field bytes string

---@param handle userdata  of core.start
---@param conclude fun(raw: table): procage.Outcome
---@return procage.Run
function M.new(handle, conclude)
  return setmetatable({ handle = handle, conclude = conclude }, Run)
end

--- Waits for something to happen, at most `timeout_ms` (default: as long as it takes), and sees to it.
---@param timeout_ms? integer
---@return procage.Chunk[]? chunks  what came meanwhile, often nothing; nil: everything that the run started is dead
function Run:step(timeout_ms)
  if self.outcome then
    return nil
  end
  local is_over, out, err = self.handle:step(timeout_ms)
  if is_over == nil then
    -- poll(2) has no memory: nobody looks after the run any more, so it ends.
    self:finish()
    error(out, 2)
  elseif is_over then
    return nil
  end
  local chunks = {}
  if out ~= "" then
    chunks[1] = { stream = "stdout", bytes = out }
  end
  if err ~= "" then
    chunks[#chunks + 1] = { stream = "stderr", bytes = err }
  end
  return chunks
end

--- For a `for`: steps until the run is over.
---@return fun(): procage.Chunk[]?
function Run:steps()
  return function()
    return self:step()
  end
end

--- Input for a command that was started with `stdin = { pipe = true }`.
---@param bytes string
---@return integer? taken  how many; 0 while the last ones are on their way: step first
---@return string? message
---@return integer? code  EPIPE: the command has closed its input
function Run:write(bytes)
  if self.outcome then
    return nil, "write: the run is over", 32 -- EPIPE
  end
  return self.handle:write(bytes)
end

--- End of file, once what was written is taken.
function Run:close_stdin()
  if not self.outcome then
    self.handle:end_input()
  end
end

--- Ends the run: SIGTERM, and after the grace everything is killed; `now`, or a second time, at once. The next steps do it.
---@param now? boolean
function Run:cancel(now)
  if not self.outcome then
    self.handle:cancel(now)
  end
end

--- The outcome; a run that is not over is killed.
---@return procage.Outcome
function Run:finish()
  if not self.outcome then
    self.outcome = self.conclude(self.handle:finish())
  end
  return self.outcome
end

--- Steps until the run is over. An error of `on_output` kills the run and is raised when everything is dead.
---@param on_output? fun(stream: "stdout"|"stderr", bytes: string)
---@return procage.Outcome
function Run:wait(on_output)
  if not on_output and not self.outcome then
    local ok, message = self.handle:wait()
    local outcome = self:finish()
    return ok and outcome or error(message, 2)
  end
  for chunks in self:steps() do
    for _, chunk in ipairs(on_output and chunks or {}) do
      local ok, problem = pcall(on_output, chunk.stream, chunk.bytes)
      if not ok then
        self:finish()
        error(problem, 0)
      end
    end
  end
  return self:finish()
end

Run.__close = Run.finish
Run.__gc = Run.finish

return M
