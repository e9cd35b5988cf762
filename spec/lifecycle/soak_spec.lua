--- Nothing is left of many runs, one after another and many at a time; bench/soak.lua does it for hours.

local box = require("spec.support.box")
local soak = require("spec.support.soak")
local strays = require("spec.support.strays")

describe("after hundreds of runs whose children fork, flood and refuse to die,", function()
  -- The allocator's room for as many at once is no leak, nor is the collector's; 100 captures of a flood would be more.
  for at_a_time, slack_kib in pairs({ [1] = 12288, [16] = 24576 }) do
    it(("%d at a time, nothing is left"):format(at_a_time), function()
      local b <close> = box.new({ config = { limits = { grace_ms = 20 } } })
      strays.install(b)
      local policy, cgroup = assert(b:policy()), box.host().cgroup
      local stray, mark = b:path("workspace/stray"), strays.mark()
      assert.same({}, soak.run(policy, stray, mark, 5 * at_a_time + 30, at_a_time))
      local before = soak.remains(cgroup)
      assert.same({}, soak.run(policy, stray, mark, at_a_time == 1 and 100 or 300, at_a_time))
      assert.same({}, soak.leaks(before, soak.remains(cgroup), slack_kib))
      assert.same({}, strays.find(mark))
    end)
  end
end)
