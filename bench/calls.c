/*
 * calls unix|inet|listen|open|make|refused COUNT: does one thing so often and prints the microseconds that all of them took together. The server is
 * its own, and accepts between two connects: what is timed is the call alone.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	perror(what);
	exit(1);
}

/* A listening socket, and its address for connect(2). */
static int serve(int family, struct sockaddr_storage *address, socklen_t *size)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = "calls.sock" };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd, "socket");
	memset(address, 0, sizeof(*address));
	if (family == AF_INET) {
		memcpy(address, &v4, sizeof(v4));
		*size = sizeof(v4);
	} else {
		unlink(path.sun_path);
		memcpy(address, &path, sizeof(path));
		*size = sizeof(path);
	}
	must(bind(fd, (struct sockaddr *)address, *size), "bind");
	must(listen(fd, 16), "listen");
	*size = sizeof(*address);
	must(getsockname(fd, (struct sockaddr *)address, size), "getsockname");
	return fd;
}

static long long connects(int family, int count)
{
	struct sockaddr_storage address;
	long long took = 0;
	socklen_t size;
	int server, i;

	server = serve(family, &address, &size);
	for (i = 0; i < count; i++) {
		int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		long long start = now_ns();

		must(connect(fd, (struct sockaddr *)&address, size), "connect");
		took += now_ns() - start;
		close(accept(server, NULL, NULL));
		close(fd);
	}
	close(server);
	return took;
}

static long long listens(int count)
{
	struct sockaddr_storage address;
	long long start = now_ns();
	socklen_t size;
	int i;

	for (i = 0; i < count; i++)
		close(serve(AF_INET, &address, &size));
	return now_ns() - start;
}

/* A file that is there, one that is made (and removed), or a call that no policy allows. */
static long long others(const char *what, int count)
{
	long long took = 0;
	int i;

	close(open("calls.file", O_CREAT | O_WRONLY, 0600));
	for (i = 0; i < count; i++) {
		long long start = now_ns();
		int fd = !strcmp(what, "open") ? open("calls.file", O_RDONLY) :
			 !strcmp(what, "make") ? open("calls.made", O_CREAT | O_WRONLY, 0600) :
						 socket(AF_VSOCK, SOCK_STREAM, 0);

		took += now_ns() - start;
		if (fd >= 0)
			close(fd);
		if (!strcmp(what, "make"))
			unlink("calls.made");
	}
	return took;
}

int main(int argc, char **argv)
{
	long long took;
	int count;

	if (argc != 3) {
		fputs("usage: calls unix|inet|listen|open|make|refused COUNT\n", stderr);
		return 2;
	}
	count = atoi(argv[2]);
	if (!strcmp(argv[1], "listen"))
		took = listens(count);
	else if (!strcmp(argv[1], "open") || !strcmp(argv[1], "make") || !strcmp(argv[1], "refused"))
		took = others(argv[1], count);
	else
		took = connects(strcmp(argv[1], "unix") ? AF_INET : AF_UNIX, count);
	printf("%lld\n", took / 1000);
	return 0;
}
