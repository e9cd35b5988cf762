/*
 * Namespaces that the runs of a policy have in common, kept by a process that does nothing else (init/holder.c).
 *
 * A descriptor of a namespace would keep it as well, but nobody would let go of it: the library has no thread in its host. A
 * process ends by itself. What leads to it lies idle in a host that does not know of it, may close numbers, fork, become somebody
 * else; so that is looked at before each use, and who has joined looks which network namespace he is in (pc_ns_join).
 */
#include "child_stack.h"
#include "child_start.h"
#include "cleanup.h"
#include "held.h"
#include "here.h"
#include "remains.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* What a user namespace has of the one who made it, and who may enter it. */
struct owner {
	uid_t uid[3];
	gid_t gid[3];
	dev_t dev;
	ino_t ino; /* his own user namespace */
	uint64_t limits[4][2];
	unsigned int confined;
};

struct pc_holder {
	uint64_t token; /* of the process that made it */
	int pid;
	struct pc_held process, life;
	struct pc_join join; /* but for its pidfd */
	struct pc_hold_state *state;
	struct owner owner;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Those that the kernel counts for a user namespace, and takes from its maker. Source: create_user_ns(), Linux 5.14. */
static int read_owner(struct owner *owner)
{
	static const int counted[] = { RLIMIT_NPROC, RLIMIT_MSGQUEUE, RLIMIT_SIGPENDING, RLIMIT_MEMLOCK };
	struct rlimit limit;
	struct stat st;
	size_t i;

	if (stat("/proc/thread-self/ns/user", &st) < 0)
		return -errno;
	owner->dev = st.st_dev;
	owner->ino = st.st_ino;
	for (i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		if (getrlimit((__rlimit_resource_t)counted[i], &limit) < 0)
			return -errno;
		owner->limits[i][0] = limit.rlim_cur;
		owner->limits[i][1] = limit.rlim_max;
	}
	if (getresuid(&owner->uid[0], &owner->uid[1], &owner->uid[2]) < 0 ||
	    getresgid(&owner->gid[0], &owner->gid[1], &owner->gid[2]) < 0)
		return -errno;
	owner->confined = pc_confined_times();
	return 0;
}

/* ---- Starting ------------------------------------------------------------------------------------------------------------ */

/* A page that both have. Sealed: nobody makes it smaller under the host. */
static int make_state(struct pc_hold_state **state)
{
	cleanup_fd int fd = memfd_create("procage-holder", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof(**state)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	at = mmap(NULL, sizeof(**state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	*state = at;
	(*state)->idle_since_ns = now_ns();
	return pc_take_fd(&fd);
}

/* A block without words and without a plan: each of its lists is the mark that ends one. */
static int make_image(uint32_t idle_ms)
{
	struct {
		struct pc_image image;
		uint64_t end;
	} block = {
		.image = {
			.magic = PC_IMAGE_MAGIC,
			.size = sizeof(block),
			.flags = PC_IMAGE_HOLDER,
			.spare_ms = idle_ms,
			.uid = geteuid(),
			.gid = getegid(),
			.argv_offset = sizeof(struct pc_image),
			.envp_offset = sizeof(struct pc_image),
			.programs_offset = sizeof(struct pc_image),
		},
	};

	return pc_open_image(&block.image);
}

static int start(struct pc_holder *holder, uint32_t idle_ms, struct pc_status *failed)
{
	struct pc_image ids = { .uid = geteuid(), .gid = getegid() };
	cleanup_fd int state_fd = -1, image_fd = -1, init_fd = -1, host_fd = -1, pidfd = -1, read_end = -1, write_end = -1;
	struct pc_start starting;
	int pair[2], rc;

	rc = state_fd = make_state(&holder->state);
	if (rc >= 0)
		rc = image_fd = make_image(idle_ms);
	if (rc >= 0)
		rc = init_fd = pc_open_init();
	if (rc < 0)
		return rc;
	host_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (host_fd < 0 || pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	read_end = pair[0];
	write_end = pair[1];
	starting = (struct pc_start) {
		.image = &ids,
		.namespaces = CLONE_NEWNET | CLONE_NEWNS,
		.made = &holder->join,
		.fds = { -1, -1, -1, host_fd, read_end, state_fd, image_fd, -1, -1, -1, -1, -1, init_fd },
	};
	rc = pc_clone_on_stack(CLONE_NEWUSER | CLONE_PIDFD | SIGCHLD, &pidfd, pc_start_holder, &starting);
	if (rc < 0) {
		failed->step = PC_STEP_CLONE;
		return rc;
	}
	holder->pid = rc;
	rc = pc_hold(&holder->process, &pidfd);
	if (rc == 0)
		rc = pc_hold(&holder->life, &write_end);
	if (rc == 0 && starting.failed.kind) {
		*failed = starting.failed;
		rc = starting.failed.error;
	}
	return rc;
}

int pc_holder_start(uint32_t idle_ms, struct pc_holder **started, struct pc_failure *failure)
{
	struct pc_status failed = { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION };
	struct pc_holder *holder = calloc(1, sizeof(*holder));
	int rc;

	*failure = (struct pc_failure) { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION, .error = -ENOMEM };
	if (!holder)
		return -ENOMEM;
	holder->token = pc_process_token();
	holder->process.fd = holder->life.fd = -1;
	holder->join.namespaces = CLONE_NEWUSER | CLONE_NEWNET;
	rc = read_owner(&holder->owner);
	if (rc == 0)
		rc = start(holder, idle_ms, &failed);
	if (rc < 0) {
		*failure = (struct pc_failure) { .step = failed.step, .op = failed.op, .error = rc };
		pc_holder_close(holder);
		pc_holder_free(holder);
		return rc;
	}
	*started = holder;
	return 0;
}

/* ---- Using it ------------------------------------------------------------------------------------------------------------ */

static bool is_own(const struct pc_holder *holder)
{
	return holder->token == pc_process_token();
}

/* Its number may lead to another process by now, of a kernel that gives all of them one inode: who joins that one sees it. */
static bool is_alive(const struct pc_holder *holder)
{
	struct pollfd ended = { .fd = holder->process.fd, .events = POLLIN };

	return pc_held_is_same(&holder->process) && pc_held_is_same(&holder->life) && poll(&ended, 1, 0) == 0;
}

static bool has_same_owner(const struct pc_holder *holder)
{
	const struct owner *then = &holder->owner;
	struct owner now;

	return read_owner(&now) == 0 && !memcmp(now.uid, then->uid, sizeof(now.uid)) &&
	       !memcmp(now.gid, then->gid, sizeof(now.gid)) && now.dev == then->dev && now.ino == then->ino &&
	       !memcmp(now.limits, then->limits, sizeof(now.limits)) && now.confined == then->confined;
}

static bool count_use(struct pc_hold_state *state)
{
	uint32_t uses = __atomic_load_n(&state->uses, __ATOMIC_ACQUIRE);

	do {
		if (uses & PC_HOLD_GONE)
			return false;
	} while (!__atomic_compare_exchange_n(&state->uses, &uses, uses + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return true;
}

int pc_holder_use(struct pc_holder *holder, struct pc_join *join)
{
	if (!is_own(holder) || !is_alive(holder) || !has_same_owner(holder) || !count_use(holder->state))
		return -ESTALE;
	*join = holder->join;
	/* A number of the run's own: another thread may close the holder meanwhile. */
	join->pidfd = fcntl(holder->process.fd, F_DUPFD_CLOEXEC, 0);
	if (join->pidfd < 0) {
		int rc = -errno;

		pc_holder_leave(holder);
		return rc;
	}
	return 0;
}

/* In a fork of the host the page is still the other's. */
void pc_holder_leave(struct pc_holder *holder)
{
	if (!is_own(holder))
		return;
	__atomic_store_n(&holder->state->idle_since_ns, now_ns(), __ATOMIC_RELEASE);
	__atomic_sub_fetch(&holder->state->uses, 1, __ATOMIC_ACQ_REL);
}

/* ---- The end ------------------------------------------------------------------------------------------------------------- */

static bool leads_to(const struct pc_holder *holder)
{
	int pid = pc_held_is_same(&holder->process) ? pc_process_of(holder->process.fd) : 0;

	return pid && (pid == holder->pid || pid == -1);
}

void pc_holder_close(struct pc_holder *holder)
{
	int life = pc_held_let_go(&holder->life);

	if (life >= 0)
		close(life);
	if (leads_to(holder)) {
		struct pc_process process = { .pid = holder->pid, .pidfd = holder->process.fd };

		if (is_own(holder))
			pc_end_process(&process);
		else
			close(process.pidfd);
	}
	holder->process.fd = -1;
}

void pc_holder_free(struct pc_holder *holder)
{
	if (holder->state)
		munmap(holder->state, sizeof(*holder->state));
	free(holder);
}
