/*
 * loops getpid|read|write|stat|open|system|mixed COUNT: makes one call so often, or one after the other, and prints the
 * microseconds that all of them took. What system calls cost under a filter and a ruleset, and little else.
 *
 * The files are the program's own, some directories down, and a header of the system's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096

static const char below[] = "loops.d/one/two/three/file";
static int null_fd, zero_fd;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long do_getpid(void)
{
	return syscall(SYS_getpid);
}

static long do_read(void)
{
	char block[BLOCK];

	return read(zero_fd, block, sizeof(block));
}

static long do_write(void)
{
	return write(null_fd, below, sizeof(below));
}

static long do_stat(void)
{
	struct stat st;

	return stat(below, &st);
}

static long open_and_close(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? fd : close(fd);
}

static long do_open(void)
{
	return open_and_close(below);
}

static long do_system(void)
{
	return open_and_close("/usr/include/stdio.h");
}

/* As programs that work on files do: most calls are about data. */
static long do_mixed(void)
{
	int i;

	for (i = 0; i < 8; i++)
		if (do_read() < 0 || do_write() < 0 || do_getpid() < 0)
			return -1;
	return do_stat() < 0 || do_open() < 0 ? -1 : 0;
}

static const struct {
	const char *name;
	long (*call)(void);
} loops[] = {
	{ "getpid", do_getpid }, { "read", do_read },	  { "write", do_write }, { "stat", do_stat },
	{ "open", do_open },	 { "system", do_system }, { "mixed", do_mixed },
};

static int set_up(void)
{
	static const char *const directories[] = { "loops.d", "loops.d/one", "loops.d/one/two", "loops.d/one/two/three" };
	size_t i;
	int fd;

	for (i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		mkdir(directories[i], 0700);
	fd = open(below, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return fd < 0 || close(fd) < 0 || null_fd < 0 || zero_fd < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	long i, count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	long long start;
	size_t loop;

	for (loop = 0; loop < sizeof(loops) / sizeof(*loops); loop++)
		if (argc > 1 && strcmp(argv[1], loops[loop].name) == 0)
			break;
	if (count < 1 || loop == sizeof(loops) / sizeof(*loops)) {
		fputs("usage: loops getpid|read|write|stat|open|system|mixed COUNT\n", stderr);
		return 2;
	}
	if (set_up() < 0) {
		perror("loops");
		return 1;
	}
	start = now_ns();
	for (i = 0; i < count; i++)
		if (loops[loop].call() < 0) {
			perror(argv[1]);
			return 1;
		}
	printf("%lld\n", (now_ns() - start) / 1000);
	return 0;
}
