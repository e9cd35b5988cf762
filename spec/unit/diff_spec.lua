local diff = require("procage.diff")

---@param a any
---@param b any
local function lines(a, b)
  return diff.lines(diff.diff(a, b))
end

describe("a difference", function()
  it("is none between equal values, and ends at a cycle", function()
    local a, b = { x = { 1, 2 } }, { x = { 1, 2 } }
    a.self, b.self = a, b
    assert.same({}, lines(a, b))
  end)

  it("names the path, and what was there", function()
    local found = lines({ a = { b = 1 }, c = true }, { a = { b = 2 }, d = { 1 } })
    assert.same({ "  a.b: 1 -> 2", "- c: true", "+ d: { 1 }" }, found)
  end)

  it("takes lists of words for sets", function()
    assert.same({ '- hidden: "b"', '+ hidden: "0"' }, lines({ hidden = { "a", "b" } }, { hidden = { "0", "a" } }))
  end)

  it("compares rows by their clause", function()
    local a = { { clause = "x", state = "enforced" }, { clause = "y", state = "enforced" } }
    local b = { { clause = "y", state = "tightened" }, { clause = "x", state = "enforced" } }
    assert.same({ '  y.state: "enforced" -> "tightened"' }, lines(a, b))
  end)

  it("compares values that are no tables", function()
    assert.same({ "  value: 1 -> nil" }, lines(1, nil))
  end)
end)
