--- What the checks of many runs take for growth.

local soak = require("spec.support.soak")

local SLACK_BYTES = 8192

--- 64 samples, each what `at` says for its place from 0 to 1.
local function samples(at)
  local list = {}
  for i = 1, 64 do
    list[i] = math.floor(at((i - 1) / 63))
  end
  return list
end

describe("a heap over many runs", function()
  it("that rises at the beginning and stays is no growth", function()
    assert.is_nil(soak.growth(samples(function(x)
      return 63000 + 54000 * math.min(1, 7 * x)
    end), SLACK_BYTES))
  end)

  it("that comes and goes is no growth", function()
    local function wave(x)
      return 90000 + 25000 * math.sin(60 * x)
    end
    assert.is_nil(soak.growth(samples(wave), SLACK_BYTES))
    assert.is_nil(soak.growth(samples(function(x)
      return x < 0.15 and 63000 + 360000 * x or 74000 + 30000 * ((x * 19) % 1)
    end), SLACK_BYTES))
  end)

  it("that rises all the time is growth, below whatever comes and goes", function()
    local function rising(x)
      return 90000 + 25000 * math.sin(60 * x) + 20000 * x
    end
    assert.matches("^the heap has grown: at least %d+ bytes in the second quarter, at least %d+ in the last$",
      soak.growth(samples(rising), SLACK_BYTES))
  end)

  it("of few samples says nothing", function()
    assert.is_nil(soak.growth({ 1, 100000, 200000 }, SLACK_BYTES))
  end)
end)
