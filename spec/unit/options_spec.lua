--- A line of options without a mistake is read without argparse, which must not be seen.

local options = require("procage.cli.options")

local VALUES = {
  "none", "loopback", "ports:443,8080", "a", "a=b", "=", "", "read", "write", "calls", "1.5", "0", "x", "../y", "~/.npmrc",
}

--- Words that could follow a subcommand: options as they are, with values good and bad, switches with values.
local function words_of(command, random)
  local words = {}
  for _ = 1, random(0, 4) do
    local option = command.options[random(#command.options)]
    local flags = {}
    for flag in option.flags:gmatch("%S+") do
      flags[#flags + 1] = flag
    end
    local flag, value = flags[random(#flags)], VALUES[random(#VALUES)]
    if flag:sub(1, 2) == "--" and random(3) == 1 then
      words[#words + 1] = flag .. "=" .. value
    else
      words[#words + 1] = flag
      if option.arg then
        words[#words + 1] = value
      end
    end
  end
  return words
end

describe("a line of options", function()
  it("reads as argparse reads it, whatever the options", function()
    local state, read, left = 20, 0, 0
    local function random(low, high)
      if not high then
        low, high = 1, low
      end
      state = (state * 1103515245 + 12345) % 2147483648
      return low + (state >> 8) % (high - low + 1)
    end
    local parsers = {}
    for _ = 1, 1500 do
      local command = options.commands[random(#options.commands)]
      local words = words_of(command, random)
      local quick = options.quick_parse(command, words)
      parsers[command] = parsers[command] or options.parser_of(command)
      local is_good, wanted = parsers[command]:pparse(words)
      local shown = command.name .. " " .. table.concat(words, " ")
      if quick then
        read = read + 1
        assert.is_true(is_good, shown)
        assert.same(wanted, quick, shown)
      else
        -- argparse then has the last word.
        left = left + 1
      end
    end
    -- Both kinds were met.
    assert.is_true(read > 300 and left > 300, ("%d read, %d left to argparse"):format(read, left))
  end)
end)
