--- A home directory as people have them, with a project in it: what makes a plan large is how much lies beside what is hidden.

local M = {}

-- 200 entries in home, 60 in .config, 30 in .local/share, four of them hidden by the default policy.
local ENTRIES, CONFIG, SHARE = 200, 60, 30

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local SCRIPT = [[
set -eu
umask 077
cd "$1"
i=0
mkdir .config .local .local/share .ssh .aws project
touch .netrc .gitconfig
mkdir .config/gh
# Half of them files, as in any home.
while [ $i -lt $(($2 - 8)) ]; do
  if [ $((i % 2)) = 0 ]; then mkdir "entry-$i"; else echo x > "entry-$i"; fi
  i=$((i + 1))
done
i=0; while [ $i -lt $(($3 - 1)) ]; do mkdir ".config/app-$i"; i=$((i + 1)); done
i=0; while [ $i -lt "$4" ]; do mkdir ".local/share/app-$i"; i=$((i + 1)); done
echo key > .ssh/id_ed25519; echo key > .aws/credentials; echo key > .netrc; echo key > .config/gh/hosts.yml
cd project
git init -q .
mkdir src .vscode
echo '{}' > .vscode/settings.json
echo 'int main(void) { return 0; }' > src/main.c
]]

--- Makes one beneath `base`; removed as a to-be-closed variable.
---@param base string
---@return { path: string, project: string }
function M.new(base)
  local pipe = assert(io.popen(("mktemp -d %s/home.XXXXXX"):format(quote(base))))
  local path = pipe:read("l")
  assert(pipe:close() and path, "no directory for a home beneath " .. base)
  assert(os.execute(("sh -c %s sh %s %d %d %d"):format(quote(SCRIPT), quote(path), ENTRIES, CONFIG, SHARE)))
  return setmetatable({ path = path, project = path .. "/project" }, {
    __close = function()
      os.execute("rm -rf -- " .. quote(path))
    end,
  })
end

return M
