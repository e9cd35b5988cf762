--- Keys and agents of the run's own; the user's are hidden.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

--- ssh asks who it is for; the ordinary user of these tests is in no list of users.
local function skip_without_name()
  if not select(2, box.shell("getent passwd $(id -u)")) then
    box.skip("this user has no name, and ssh wants one")
  end
end

describe("keys of the run's own", function()
  it("are made and held by an ssh-agent in the workspace (FR-39)", function()
    skip_without_name()
    tool.works({
      needs = { "ssh-agent", "ssh-keygen", "ssh-add" },
      run = [[
        eval "$(ssh-agent -a ./ag)" >/dev/null && ssh-keygen -q -t ed25519 -N '' -f k && SSH_AUTH_SOCK=./ag ssh-add -q k &&
        SSH_AUTH_SOCK=./ag ssh-add -l | grep -c ED25519; rc=$?; kill $SSH_AGENT_PID; exit $rc]],
      prints = "^1\n$",
    })
  end)

  it("sign and verify a file and a commit by ssh", function()
    skip_without_name()
    tool.works({
      needs = { "ssh-keygen", "git" },
      run = [[
        set -e; ssh-keygen -q -t ed25519 -N '' -f k; echo x >f; ssh-keygen -q -Y sign -n file -f k f 2>/dev/null
        echo "t@example.invalid $(cat k.pub)" >allowed
        ssh-keygen -Y verify -f allowed -I t@example.invalid -n file -s f.sig <f | grep -c Good
        git init -q r; cd r; git config user.name T; git config user.email t@example.invalid; git config gpg.format ssh
        git config user.signingkey "$PWD/../k"; git config gpg.ssh.allowedSignersFile "$PWD/../allowed"
        git commit -q -S --allow-empty -m signed; git log -1 --format=%G?]],
      prints = "^1\nG\n$",
    })
  end)

  it("are made by gpg with an agent in a private GNUPGHOME", function()
    tool.works({
      needs = { "gpg" },
      -- A socket's path has 108 bytes: gpg puts its sockets beside the keys.
      run = [[
        set -e; mkdir -m 700 g; GNUPGHOME=$PWD/g; export GNUPGHOME
        gpg --batch --quiet --passphrase '' --quick-gen-key 'T <t@example.invalid>' ed25519 sign never 2>/dev/null
        echo x >f; gpg --batch --quiet --sign f; gpg --batch --verify f.gpg 2>&1 | grep -c 'Good signature'
        gpgconf --kill all]],
      prints = "^1\n$",
    })
  end)

  it("and certificates are made by openssl", function()
    tool.works({
      needs = { "openssl" },
      run = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out c -subj /CN=t -days 1 "
        .. "2>/dev/null && openssl verify -CAfile c c && stat -c %a k",
      prints = "OK\n600\n$",
    })
  end)
end)
