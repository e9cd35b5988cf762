--- A plot of ratios in SVG: bars for each row and series on a logarithmic axis that begins at 1, budgets as lines across them.

local M = {}

local LEFT, WIDTH, RIGHT, TOP, BOTTOM = 300, 560, 60, 64, 44
local BAR, GAP = 11, 14
local TICKS = { 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50 }
-- Told apart by people who see no red and green, and in print.
local COLOURS = { "#1b4f72", "#5dade2", "#b9770e", "#f5cba7" }
local BUDGET = "#c0392b"

local function escape(text)
  return (text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }))
end

local function largest(rows)
  local found = 2
  for _, row in ipairs(rows) do
    found = math.max(found, row.budget or 0)
    for _, series in ipairs(row.series) do
      found = math.max(found, series.plain_ratio or 0)
    end
  end
  return found
end

---@param lines string[]
local function text(lines, x, y, anchor, content, more)
  lines[#lines + 1] = ('<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>'):format(x, y, anchor, more or "", escape(content))
end

local function rectangle(lines, x, y, width, height, colour)
  lines[#lines + 1] = ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>'):format(x, y, width, height, colour)
end

local function vertical(lines, x, from, to, colour, width)
  lines[#lines + 1] = ('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%s"/>'):format(
    x, from, x, to, colour, width)
end

local function legend(lines, series)
  local x = LEFT
  for i, one in ipairs(series) do
    rectangle(lines, x, 34, 12, 12, COLOURS[i])
    text(lines, x + 17, 44, "start", one.name)
    x = x + 40 + 7 * #one.name
  end
  vertical(lines, x + 4, 32, 48, BUDGET, 2)
  text(lines, x + 12, 44, "start", "budget")
end

---@param rows { name: string, budget?: number, series: { name: string, plain_ratio?: number }[] }[]
---@return string
function M.bars(rows)
  local most, lines = largest(rows), {}
  local function at(ratio)
    return LEFT + WIDTH * math.log(math.max(ratio, 1)) / math.log(most)
  end
  local group = #rows[1].series * BAR + GAP
  local bottom = TOP + #rows * group
  for _, tick in ipairs(TICKS) do
    if tick <= most then
      vertical(lines, at(tick), TOP - 4, bottom, "#d5d8dc", 1)
      text(lines, at(tick), bottom + 16, "middle", ("%g"):format(tick))
    end
  end
  text(lines, LEFT + WIDTH / 2, bottom + 34, "middle", "times a plain vfork and exec from the same host (logarithmic)")
  for i, row in ipairs(rows) do
    local y = TOP + (i - 1) * group + GAP / 2
    text(lines, LEFT - 10, y + (group - GAP) / 2 + 4, "end", row.name)
    for j, series in ipairs(row.series) do
      local ratio, bar = series.plain_ratio, y + (j - 1) * BAR
      if ratio then
        rectangle(lines, LEFT, bar, at(ratio) - LEFT, BAR - 1, COLOURS[j])
        text(lines, at(ratio) + 4, bar + BAR - 2, "start", ("%.2f"):format(ratio), ' font-size="10"')
      end
    end
    if row.budget then
      vertical(lines, at(row.budget), y - 3, y + group - GAP + 3, BUDGET, 2)
    end
  end
  text(lines, LEFT, 20, "start", "What it costs to start /bin/true", ' font-weight="bold" font-size="14"')
  legend(lines, rows[1].series)
  local width, height = LEFT + WIDTH + RIGHT, bottom + BOTTOM
  return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" '
    .. 'font-size="12" fill="#1c2833">\n<rect width="%d" height="%d" fill="#ffffff"/>\n%s\n</svg>'):format(
    width, height, width, height, width, height, table.concat(lines, "\n"))
end

return M
