local ending = require("procage.ending")

local function of(outcome, limits)
  outcome.usage = outcome.usage or { user_us = 0, system_us = 0 }
  outcome.duration_ms = outcome.duration_ms or 0
  return ending.of(outcome, limits)
end

describe("the ending of a run", function()
  for _, case in ipairs({
    { "the time limit", { signal = 15, timed_out = true, duration_ms = 1500 }, {}, "timeout_ms",
      "ended by the time limit after 1.5 s" },
    { "SIGXCPU", { signal = 24 }, { cpu_ms = 1000 }, "cpu_ms",
      "ended by the limit of processor time: limits.cpu_ms = 1000" },
    { "SIGXCPU of what a shell ran", { status = 152 }, { cpu_ms = 1000 }, "cpu_ms",
      "a process of it was ended by the limit of processor time: limits.cpu_ms = 1000" },
    { "SIGKILL past the time", { signal = 9, usage = { user_us = 900000, system_us = 1200000 } }, { cpu_ms = 1000 }, "cpu_ms",
      "ended by the limit of processor time: limits.cpu_ms = 1000" },
    { "SIGXFSZ", { signal = 25 }, { file_bytes = 100 }, "file_bytes",
      "ended by the limit of a file's size: limits.file_bytes = 100" },
    { "memory", { signal = 9, memory_kills = 1 }, { memory_bytes = 100, cpu_ms = 1 }, "memory_bytes",
      "1 process was killed at the limit of memory: limits.memory_bytes = 100" },
    { "memory of two, the command went on", { status = 0, memory_kills = 2 }, { memory_bytes = 100 }, "memory_bytes",
      "2 processes were killed at the limit of memory: limits.memory_bytes = 100" },
  }) do
    it("is told to be a limit's: " .. case[1], function()
      assert.same({ limit = case[4], text = case[5] }, of(case[2], case[3]))
    end)
  end

  it("is nobody's limit where none was set, or another signal came", function()
    assert.is_nil(of({ signal = 24 }, {}))
    assert.is_nil(of({ signal = 25 }, { cpu_ms = 1000 }))
    assert.is_nil(of({ signal = 9 }, { cpu_ms = 1000 }))
    assert.is_nil(of({ status = 3 }, { cpu_ms = 1000, file_bytes = 100, memory_bytes = 100 }))
    assert.is_nil(of({ status = 0 }, { file_bytes = 100 }))
  end)
end)
