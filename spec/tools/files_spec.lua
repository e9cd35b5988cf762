--- Files in the workspace behave as outside: links, moves, modes, archives, sockets' neighbours, odd names.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

describe("in the workspace", function()
  it("directories are renamed, moved and removed (FR-19)", function()
    tool.works({ run = "mkdir d && mv d e && rmdir e && mkdir -p q/w && rm -r q && echo ok", prints = "^ok\n$" })
    tool.works({
      run = "mkdir -p a/b c && echo x >a/b/f && mv a/b c/ && mv c/b/f a/ && ln a/f c/g && mv c d && cat d/g && stat -c %h a/f",
      prints = "^x\n2\n$",
    })
  end)

  it("links, times, modes and owners are copied", function()
    tool.works({
      run = [[
        mkdir s; echo x >s/f; ln -s f s/l; ln s/f s/h; chmod 640 s/f; touch -d 2001-02-03 s/f; mkfifo s/p
        cp -a s t && stat -c '%a %Y %F' t/f t/l t/p && test t/f -ef t/h && readlink t/l && cmp s/f t/f && echo same]],
      prints = "^640 %d+ regular file\n777 %d+ symbolic link\n%d+ %d+ fifo\nf\nsame\n$",
    })
  end)

  it("archives are made and unpacked", function()
    tool.works({
      needs = { "tar", "gzip", "xz", "zip", "unzip" },
      run = [[
        mkdir s; echo x >s/f; ln -s f s/l
        tar czf s.tgz s && tar cJf s.txz s && zip -qr s.zip s && rm -r s && tar xzf s.tgz && rm -r s && tar xJf s.txz &&
        rm -r s && unzip -q s.zip && cat s/f && echo s | cpio -o --quiet >s.cpio && ls]],
      prints = "^x\ns\ns.cpio\n",
    })
  end)

  it("an archive with other owners is unpacked by an ordinary user (FR-41)", function()
    tool.works({
      run = "touch f && tar cf a.tar --owner=5 --group=5 f && rm f && tar xf a.tar --no-same-owner && ls f",
      prints = "^f\n$",
    })
    if not box.is_root() then
      tool.works({
        run = "touch f && tar cf a.tar --owner=5 --group=5 f && rm f && tar xf a.tar && ls f",
        prints = "^f\n$",
      })
    end
  end)

  it("a package of root's files is made under fakeroot", function()
    tool.works({
      needs = { "fakeroot", "dpkg-deb" },
      setup = "mkdir -p p/DEBIAN p/usr && touch p/usr/f"
        .. " && printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n' >p/DEBIAN/control",
      run = "fakeroot sh -ec 'chown -R root:root p; chown 5:6 p/usr/f; dpkg-deb -b p x.deb >/dev/null'"
        .. " && dpkg-deb --fsys-tarfile x.deb | tar tv --numeric-owner",
      prints = "0/0 .* ./usr/\n.* 5/6 .* ./usr/f\n",
      unless = { clause = "ipc", lacks = { "ipcns" }, fails = "message channels" },
    })
  end)

  it("trees are synchronised by rsync", function()
    tool.works({
      needs = { "rsync" },
      run = "mkdir -p s/d && echo x >s/d/f && rsync -a s/ t/ && rsync -a --delete s/ t/ && cat t/d/f",
      prints = "^x\n$",
    })
  end)

  it("FIFOs connect processes, and sparse and large files are made", function()
    tool.works({
      run = [[
        mkfifo p; echo through >p & cat p; truncate -s 5G big && stat -c %s big && fallocate -l 1M small && rm big
        dd if=/dev/zero of=z bs=1M count=8 status=none conv=fsync && sync z && sha256sum z | cut -c1-8]],
      prints = "^through\n5368709120\n%x+\n$",
    })
  end)

  it("read-only files stay read-only, and modes are as umask says", function()
    local b <close> = box.new()
    for _, run in ipairs({ b.run_unconfined, b.run }) do
      local result = run(b, "umask; umask 027; rm -f m r; echo x >m; stat -c %a m; echo x >r; chmod 400 r; stat -c %a r; cat r")
      assert.matches("^0?%d+\n640\n400\nx\n$", result.stdout)
    end
    local user = b:run("echo x >o; chmod 444 o; { echo y >>o; } 2>/dev/null; cat o")
    -- Root without capabilities is bound by modes as anybody.
    assert.equal("x\n", user.stdout)
  end)

  it("extended attributes and access times work as the file system does", function()
    tool.works({
      run = {
        "/usr/bin/python3",
        "-c",
        "import os; open('f','w').close(); os.setxattr('f','user.a',b'1'); print(os.getxattr('f','user.a')); "
          .. "os.utime('f',(1,2)); print(os.stat('f').st_mtime)",
      },
      prints = "^b'1'\n2.0\n$",
    })
  end)

  it("names may have spaces, newlines, quotes, unicode, bytes and a leading dash", function()
    tool.works({
      setup = [[
        for n in 'a b' '-rf' "q'uo\"te" 'Ünïcödé ✓' '*' '$(x)' ' '; do echo 1 >"./$n"; done
        printf 2 >"$(printf 'new\nline')"; printf 3 >"$(printf 'b\377yte')"; mkdir -p -- '-d/ e'; echo 4 >'-d/ e/f']],
      run = "ls -A | wc -l; cat -- -rf './ ' 'Ünïcödé ✓' '-d/ e/f' | tr -d '\\n'; mv -- -rf x; rm -r -- -d; "
        .. "find . -type f | wc -l",
      prints = "^11\n1114",
    })
  end)

  it("paths may be deep and long", function()
    tool.works({
      run = [[
        for i in $(seq 60); do mkdir dddddddddddddddddddddddddddddd && cd dddddddddddddddddddddddddddddd; done
        echo x >f && cat f && /bin/pwd | wc -c && cd "$WS" && rm -r d*; ls]],
      prints = "^x\n%d%d%d%d\n$",
    })
  end)

  it("a directory that cannot be read stops nothing (FR-134)", function()
    tool.works({
      setup = "mkdir locked && chmod 000 locked",
      run = "echo started; ls -d locked",
      prints = "^started\nlocked\n$",
    })
  end)

  it("can be probed by making, reading and removing a file (FR-122)", function()
    tool.works({ run = "touch probe && cat probe && rm probe && echo ok", prints = "^ok\n$" })
  end)
end)

describe("between trees", function()
  it("a hard link from the cache falls back to a copy, and rename to copy and remove (FR-18)", function()
    local b <close> = box.new()
    b:mkdir("home/.cache")
    local outcome = b:run([[
      echo x >"$HOME/.cache/f"; if ln "$HOME/.cache/f" ./f; then echo linked; else cp "$HOME/.cache/f" ./f && echo copied; fi
      mv "$HOME/.cache/f" g && cat f g; echo y >t && mv t "$TMPDIR/t" && mv "$TMPDIR/t" u && cat u]])
    assert.matches("^%a+ed\nx\nx\ny\n$", outcome.stdout)
    -- Each writable tree is a mount of its own where there are mounts (docs/limits.md).
    local has_mounts = tool.has(box.report_row(outcome, "write"), "mount-tree")
    assert.matches(has_mounts and "^copied" or "^linked", outcome.stdout)
    if has_mounts then
      assert.matches("Invalid cross-device link", outcome.stderr, 1, true)
    end
  end)

  it("writes outside are refused, with the tool's own words for it", function()
    local b <close> = box.new()
    assert.equal(0, b:run_unconfined('echo x >"$OUTSIDE/f" && rm "$OUTSIDE/f"').status)
    local outcome = b:run('echo x >"$OUTSIDE/f"; echo rc=$?; test -e "$OUTSIDE/f" || echo none')
    assert.matches("rc=[12]\nnone\n$", outcome.stdout)
    assert.matches("Read%-only file system", (outcome.stderr:gsub("Permission denied", "Read-only file system")))
    assert.is_false(b:exists("outside/f"))
  end)
end)

describe("set-up", function()
  it("does not grow with the workspace (FR-133)", function()
    local function milliseconds(b)
      local best
      for _ = 1, 3 do
        b.loaded = nil
        local began = tonumber((box.shell("date +%s%N")))
        assert.equal(0, b:run("true").status)
        local took = (tonumber((box.shell("date +%s%N"))) - began) / 1e6
        best = math.min(best or took, took)
      end
      return best
    end
    local small <close> = box.new()
    local large <close> = box.new()
    large:setup("mkdir $(seq -f d%g 200) && for d in d*; do ( cd $d && seq 200 | xargs touch ); done")
    local without, with = milliseconds(small), milliseconds(large)
    -- The scan for repositories is bounded; half a second is far above it, and far below what 40,000 files would take.
    assert.is_true(with < without + 500, ("%.0f ms with 40,000 files, %.0f ms without"):format(with, without))
  end)
end)
