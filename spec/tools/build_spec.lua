--- Compilers and build systems run unchanged.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

--- A small project in C and C++ with a library and tests.
local PROJECT = [[
mkdir -p src include test
cat >include/count.h <<'END'
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
long count_words(const char *text);
#ifdef __cplusplus
}
#endif
END
cat >src/count.c <<'END'
#include "count.h"
#include <ctype.h>
long count_words(const char *text)
{
	long words = 0;
	int inside = 0;
	for (; *text; text++) {
		int space = isspace((unsigned char)*text);
		words += !space && !inside;
		inside = !space;
	}
	return words;
}
END
cat >test/count_test.c <<'END'
#include "count.h"
#include <stdlib.h>
int main(void)
{
	return count_words(" two  words ") == 2 && count_words("") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
END
cat >test/thread_test.cpp <<'END'
#include "count.h"
#include <thread>
int main()
{
	long words = 0;
	std::thread worker([&] { words = count_words("a b c"); });
	worker.join();
	return words == 3 ? 0 : 1;
}
END
cat >Makefile <<'END'
CFLAGS = -Wall -O1 -fPIC -Iinclude
CXXFLAGS = -Wall -O1 -Iinclude -pthread
all: libcount.so count_test thread_test
libcount.so: src/count.o
	$(CC) -shared -o $@ $^
count_test: test/count_test.o src/count.o
	$(CC) -o $@ $^
thread_test: test/thread_test.o src/count.o
	$(CXX) -pthread -o $@ $^
check: all
	./count_test
	./thread_test
	@echo all tests passed
clean:
	rm -f libcount.so count_test thread_test src/*.o test/*.o
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(count C CXX)
include(CTest)
find_package(Threads REQUIRED)
add_library(count SHARED src/count.c)
target_include_directories(count PUBLIC include)
add_executable(count_test test/count_test.c)
target_link_libraries(count_test count)
add_executable(thread_test test/thread_test.cpp)
target_link_libraries(thread_test count Threads::Threads)
add_test(NAME count COMMAND count_test)
add_test(NAME thread COMMAND thread_test)
install(TARGETS count LIBRARY DESTINATION lib)
END
]]

describe("a C and C++ project", function()
  it("is built, tested and cleaned by make", function()
    tool.works({
      needs = { "make", "gcc", "g++" },
      setup = PROJECT,
      run = "make check && make -s clean && ls",
      prints = "all tests passed.*Makefile",
      after = function(b)
        assert.is_false(b:exists("workspace/count_test"))
      end,
    })
  end)

  it("is configured, built, tested and installed by cmake with ninja", function()
    tool.works({
      needs = { "cmake", "ninja", "gcc", "g++" },
      setup = PROJECT,
      run = "cmake -B out -G Ninja && cmake --build out && ctest --test-dir out && cmake --install out --prefix $PWD/prefix",
      prints = "100%% tests passed",
      after = function(b)
        assert.is_true(b:exists("workspace/prefix/lib/libcount.so"))
      end,
    })
  end)

  it("is configured, built and tested by cmake with make, in a directory with a space", function()
    tool.works({
      needs = { "cmake", "make", "gcc", "g++" },
      setup = "mkdir 'a b'; cd 'a b'; " .. PROJECT,
      run = "cd 'a b' && cmake -B out -G 'Unix Makefiles' && cmake --build out --target count_test && cd out && ctest -R count",
      prints = "100%% tests passed",
    })
  end)

  it("is rebuilt only where a file has changed", function()
    tool.works({
      needs = { "make", "gcc", "g++" },
      setup = PROJECT .. "make -s all; sleep 0.01; touch src/count.c",
      run = "make all && make all",
      prints = "src/count%.c.*Nothing to be done",
    })
  end)

  it("is built with debug information, link-time optimisation and a static library", function()
    tool.works({
      needs = { "gcc", "ar" },
      setup = PROJECT,
      run = "gcc -g -flto -Iinclude -c src/count.c -o c.o && gcc-ar rcs libcount.a c.o && "
        .. "gcc -g -flto -Iinclude -o t test/count_test.c libcount.a && ./t && nm libcount.a && echo built",
      prints = "built\n$",
    })
  end)

  it("may have a test that opens tmpfile(3), which is in /tmp whatever TMPDIR says", function()
    tool.works({
      needs = { "gcc" },
      setup = [[
        printf '#include <stdio.h>\nint main(void){ if (!tmpfile()) { perror("tmpfile"); return 1; } return 0; }' >t.c]],
      run = "gcc -o t t.c && ./t",
      unless = {
        clause = "tmp",
        lacks = "private-tmp-mount",
        effect = "no tmpfile(3)",
        fails = "tmpfile: Permission denied",
      },
    })
  end)

  it("is configured by a script that writes where TMPDIR says", function()
    tool.works({
      needs = { "gcc" },
      run = [[
        t=$(mktemp -d) && echo 'int main(void){return 0;}' >$t/conftest.c && gcc -o $t/conftest $t/conftest.c &&
        $t/conftest && rm -r $t && echo checking works]],
      prints = "checking works",
    })
  end)
end)

describe("procage-lua itself", function()
  it("builds its init and the library inside", function()
    local source = box.shell("pwd -P")
    if not io.open(source .. "/CMakeLists.txt") then
      return pending("these tests run from a copy without the C sources")
    end
    for _, program in ipairs({ "cmake", "ninja", "pkg-config" }) do
      box.skip_without(program)
    end
    local b <close> = box.new()
    -- A copy: the checkout may lie below /tmp, where a run has a directory of its own. Whole folders, but no build tree.
    b:setup(
      ("mkdir src && cd %s && cp -R CMakeLists.txt bench cmake core platform lua policies spec \"$WS/src/\""):format(
        box.quote(source)
      )
    )
    -- Init stands for all: the whole takes as long as the rest of this spec.
    local outcome = b:run(
      "cmake -S src -B out -G Ninja && ninja -C out procage_init && ls out/libexec/procage",
      { timeout_ms = 120000 }
    )
    assert.equal(0, outcome.status, tool.told(outcome))
    assert.matches("procage%-init", outcome.stdout)
  end)
end)

describe("a program", function()
  it("of the system starts with its loader and libraries (FR-30)", function()
    tool.works({ run = { "bash", "-c", "echo started && ldd /bin/ls | head -1" }, prints = "^started\n.+%.so" })
  end)

  it("that was just built starts in a workspace below /tmp (FR-130)", function()
    tool.works({
      needs = { "gcc" },
      box = { under = "/tmp" },
      setup = "touch marker",
      run = "test -f marker && echo 'int main(void){return 7;}' >a.c && gcc -o a a.c && ./a; echo $?; pwd -P",
      prints = "^7\n/tmp/",
    })
  end)
end)
