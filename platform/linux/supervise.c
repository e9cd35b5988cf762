/*
 * Looks after one run: one poll loop over the status pipe, the streams, the deadline and init's death, a turn of it at a time.
 *
 * No thread, no signal handler, nothing global: a host may have hundreds at once. What the command ended with comes from the
 * status pipe, never from winning a wait(2). The run is over when init says that all others are dead, or is dead itself; a
 * descriptor that someone still holds does not keep it.
 */
#include "audit.h"
#include "capture.h"
#include "cgroup.h"
#include "cleanup.h"
#include "image.h"
#include "notify.h"
#include "remains.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define CHUNK	       65536
#define DRAIN_GRACE_MS 1000
#define INSIST_MS      3000
#define TERMINAL_DUE   (1u << 20)

enum {
	WATCH_INIT,
	WATCH_STATUS,
	WATCH_OUT,
	WATCH_ERR,
	WATCH_OUT_TO,
	WATCH_ERR_TO,
	WATCH_IN,
	WATCH_SOURCE,
	WATCH_CANCEL,
	WATCH_WAKE,
	WATCH_LISTENER,
	WATCH_BROKER,
	WATCH_AUDIT,
	WATCHES
};

/* One output stream on its way to a capture, a descriptor of the caller's or his hands. */
struct stream {
	int from; /* -1: ended */
	int to;	  /* -1: captured */
	struct pc_capture *capture;
	char *buffer;
	size_t at, left; /* read and not yet written, or to be seen by the caller until the next turn */
	size_t due;	 /* once the run is over: what it had left in the pipe */
};

/* The command's standard input: bytes still to be written, and where more come from. */
struct input {
	int to;	    /* -1: closed */
	int source; /* -1: no more */
	const char *at;
	size_t left;
	bool is_open; /* the caller may still give more */
	bool is_hung; /* nobody is left to write to the source, though it may hold something yet */
};

struct pc_supervisor {
	struct pc_process process;
	struct pc_supervision how;
	struct pc_result result;
	struct stream out, err;
	struct input in;
	int64_t start_us, deadline_us, kill_us, unfed_us; /* -1: none */
	bool is_killed;					  /* kill_us is when to insist */
	bool is_over;					  /* everybody is dead, but for init perhaps */
	bool init_is_dead, is_drained;
	char *in_buffer;
};

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void close_at(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void order(struct pc_supervisor *s, char what)
{
	/* A run that is gone needs no order; SIGPIPE is kept away by the caller's mask (pc_supervise). */
	if (s->process.control_fd >= 0 && write(s->process.control_fd, &what, 1) < 0)
		close_at(&s->process.control_fd);
}

static void signal_init(const struct pc_supervisor *s, int signal)
{
	syscall(SYS_pidfd_send_signal, s->process.pidfd, signal, NULL, 0);
}

/*
 * Ends everything now. Init is told and not killed: it knows how the command ended, and without a PID namespace it is the one
 * that sweeps.
 */
static void kill_run(struct pc_supervisor *s)
{
	order(s, PC_ORDER_KILL);
	close_at(&s->process.control_fd);
	s->is_killed = true;
	s->kill_us = now_us() + (int64_t)INSIST_MS * 1000;
}

/*
 * An init that is still there. As PID 1 its death is everybody's. A reaper that the run has stopped goes on; it is never killed,
 * since nobody else knows its descendants.
 */
static void insist(struct pc_supervisor *s)
{
	signal_init(s, s->process.has_pid_namespace ? SIGKILL : SIGCONT);
	s->kill_us = now_us() + (int64_t)INSIST_MS * 1000;
}

/* SIGTERM first, so that the command can say what it was doing; everything dies when the grace is over. */
static void begin_end(struct pc_supervisor *s)
{
	s->deadline_us = s->unfed_us = -1;
	if (s->is_killed)
		return;
	if (s->how.grace_ms <= 0) {
		kill_run(s);
		return;
	}
	order(s, PC_ORDER_TERM);
	s->kill_us = now_us() + s->how.grace_ms * 1000;
}

/* Whoever talks to the command by its standard input has gone: so may it, and if it does not, it is made to. */
static void end_without_input(struct pc_supervisor *s)
{
	if (s->how.input_grace_ms > 0 && s->kill_us < 0)
		s->unfed_us = now_us() + s->how.input_grace_ms * 1000;
}

/* A command that does not read, or has closed its input, never sees the end. */
static void note_hang_up(struct pc_supervisor *s)
{
	s->in.is_hung = true;
	end_without_input(s);
}

/* Whether there may be more to read at once. */
static bool read_output(struct pc_supervisor *s, struct stream *stream)
{
	size_t size = s->is_over && stream->due < CHUNK ? stream->due : CHUNK;
	ssize_t n;

	if (stream->from < 0 || stream->left || !size)
		return false;
	n = read(stream->from, stream->buffer, size);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n <= 0) {
		close_at(&stream->from);
		return false;
	}
	if (s->is_over)
		stream->due -= (size_t)n;
	if (stream->to < 0)
		pc_capture_add(stream->capture, s->how.capture_bytes, stream->buffer, (size_t)n);
	if (stream->to < 0 && !s->how.is_live)
		return true;
	stream->at = 0;
	stream->left = (size_t)n;
	return false;
}

/*
 * Called when poll(2) says there is room. At most PIPE_BUF bytes: a pipe that polls writable takes that many without blocking,
 * and the caller's descriptor is not ours to make non-blocking.
 */
static void write_output(struct pc_supervisor *s, struct stream *stream)
{
	size_t size = stream->left < PIPE_BUF ? stream->left : PIPE_BUF;
	ssize_t n;

	if (!stream->left)
		return;
	n = write(stream->to, stream->buffer + stream->at, size);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		/* The reader is gone: the command learns it by SIGPIPE, as it would without us. A full disk it cannot learn. */
		if (errno != EPIPE)
			s->result.output_error = errno;
		stream->left = 0;
		close_at(&stream->from);
		return;
	}
	stream->at += (size_t)n;
	stream->left -= (size_t)n;
}

static void read_source(struct pc_supervisor *s)
{
	ssize_t n = read(s->in.source, s->in_buffer, CHUNK);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		s->in.source = -1; /* the caller's, not ours to close */
		end_without_input(s);
		return;
	}
	s->in.at = s->in_buffer;
	s->in.left = (size_t)n;
}

static void write_input(struct pc_supervisor *s)
{
	ssize_t n = write(s->in.to, s->in.at, s->in.left);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		close_at(&s->in.to); /* the command has closed its input */
		return;
	}
	s->in.at += n;
	s->in.left -= (size_t)n;
	/* As long as the command takes what was written before, it has not seen the end. */
	if (s->unfed_us >= 0)
		end_without_input(s);
}

static void close_finished_input(struct pc_supervisor *s)
{
	/* A terminal does not end: its user types the end. */
	if (s->how.has_terminal || s->in.is_open)
		return;
	if (s->in.to >= 0 && !s->in.left && s->in.source < 0) {
		close_at(&s->in.to);
		end_without_input(s);
	}
}

/*
 * What the pipes hold when the run is over was written before the end: so much is read and no more, since where the run has no PID
 * namespace someone may be left who writes on. A terminal does not tell how much it holds.
 */
static void note_due(const struct pc_supervisor *s, struct stream *stream)
{
	int due = 0;

	if (stream->from < 0)
		return;
	stream->due = s->how.has_terminal				  ? TERMINAL_DUE :
		      ioctl(stream->from, FIONREAD, &due) == 0 && due > 0 ? (size_t)due :
									    0;
}

static void note_end(struct pc_supervisor *s)
{
	if (s->is_over)
		return;
	s->is_over = true;
	note_due(s, &s->out);
	note_due(s, &s->err);
}

static void read_status(struct pc_supervisor *s)
{
	struct pc_status status;
	ssize_t n = read(s->process.status_fd, &status, sizeof(status));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(status)) {
		close_at(&s->process.status_fd);
		return;
	}
	if (status.kind == PC_STATUS_OVER)
		note_end(s);
	if (status.kind != PC_STATUS_EXITED)
		return;
	s->result.has_status = true;
	s->result.wait_status = status.wait_status;
	s->result.user_us = status.user_us;
	s->result.system_us = status.system_us;
	s->result.max_rss_kib = status.max_rss_kib;
	s->deadline_us = s->unfed_us = -1; /* the command made it; only the sweep is left */
}

/* The command's terminal takes the size of the user's. Source: ioctl_tty(2). */
static void resize_terminal(const struct pc_supervisor *s)
{
	struct winsize size;

	if (s->how.has_terminal && s->out.from >= 0 && ioctl(s->how.in_from_fd, TIOCGWINSZ, &size) == 0)
		ioctl(s->out.from, TIOCSWINSZ, &size);
}

static void cancel(struct pc_supervisor *s, int signal)
{
	/* The second one means now. */
	if (s->result.cancel_signal) {
		kill_run(s);
		return;
	}
	s->result.cancel_signal = signal;
	begin_end(s);
}

static void read_cancel(struct pc_supervisor *s)
{
	struct signalfd_siginfo info;

	if (read(s->how.cancel_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH)
		resize_terminal(s);
	else
		cancel(s, (int)info.ssi_signo);
}

/* Each call of pc_supervise_cancel() adds to what is read here. */
static void read_wake(struct pc_supervisor *s)
{
	uint64_t times;

	if (read(s->how.wake_fd, &times, sizeof(times)) != sizeof(times))
		return;
	if (times > 1 && !s->result.cancel_signal) {
		s->result.cancel_signal = SIGTERM;
		s->deadline_us = -1;
		kill_run(s);
		return;
	}
	cancel(s, SIGTERM);
}

/* What has been read is written before more is read: the command waits for its reader, as it would without us. */
static void fill_stream(const struct stream *stream, struct pollfd *from, struct pollfd *to)
{
	*from = (struct pollfd) { .fd = stream->left ? -1 : stream->from, .events = POLLIN };
	*to = (struct pollfd) { .fd = stream->left ? stream->to : -1, .events = POLLOUT };
}

static void fill_polls(const struct pc_supervisor *s, struct pollfd *polls)
{
	bool wants_more = s->in.to >= 0 && !s->in.left && s->in.source >= 0;
	bool wants_end = s->how.input_grace_ms > 0 && !s->in.is_hung;

	polls[WATCH_INIT] = (struct pollfd) { .fd = s->process.pidfd, .events = POLLIN };
	polls[WATCH_STATUS] = (struct pollfd) { .fd = s->process.status_fd, .events = POLLIN };
	fill_stream(&s->out, &polls[WATCH_OUT], &polls[WATCH_OUT_TO]);
	fill_stream(&s->err, &polls[WATCH_ERR], &polls[WATCH_ERR_TO]);
	/* Without bytes to write it is watched for the reader's going alone. */
	polls[WATCH_IN] = (struct pollfd) { .fd = s->in.to, .events = s->in.left ? POLLOUT : 0 };
	polls[WATCH_SOURCE] = (struct pollfd) {
		.fd = wants_more || wants_end ? s->in.source : -1,
		.events = wants_more ? POLLIN : 0,
	};
	polls[WATCH_CANCEL] = (struct pollfd) { .fd = s->how.cancel_fd, .events = POLLIN };
	polls[WATCH_WAKE] = (struct pollfd) { .fd = s->how.wake_fd, .events = POLLIN };
	polls[WATCH_LISTENER] = polls[WATCH_BROKER] = (struct pollfd) { .fd = -1 };
	polls[WATCH_AUDIT] = (struct pollfd) { .fd = s->how.audit ? pc_audit_fd(s->how.audit) : -1, .events = POLLIN };
	if (s->how.notify) {
		polls[WATCH_LISTENER] = (struct pollfd) { .fd = pc_notify_listener(s->how.notify), .events = POLLIN };
		polls[WATCH_BROKER].fd = pc_notify_broker(s->how.notify);
		polls[WATCH_BROKER].events = pc_notify_broker_events(s->how.notify);
	}
}

static int next_timeout_ms(const struct pc_supervisor *s, int longest)
{
	int64_t until = -1, left;

	if (s->deadline_us >= 0)
		until = s->deadline_us;
	if (s->kill_us >= 0 && (until < 0 || s->kill_us < until))
		until = s->kill_us;
	if (s->unfed_us >= 0 && (until < 0 || s->unfed_us < until))
		until = s->unfed_us;
	if (until < 0)
		return longest;
	left = (until - now_us() + 999) / 1000;
	left = left < 0 ? 0 : left > 1000000 ? 1000000 : left;
	return longest >= 0 && longest < left ? longest : (int)left;
}

static void check_clock(struct pc_supervisor *s)
{
	int64_t now = now_us();

	if (s->kill_us >= 0 && now >= s->kill_us) {
		if (s->is_killed)
			insist(s);
		else
			kill_run(s);
	}
	if (s->deadline_us >= 0 && now >= s->deadline_us) {
		s->result.is_timed_out = true;
		begin_end(s);
	} else if (s->unfed_us >= 0 && now >= s->unfed_us) {
		begin_end(s);
	}
}

/*
 * While the command lives nobody but an attacker ends its broker, and what the broker kept for the run (an address that no other
 * program may take) goes with it. So does the run.
 */
static void serve_broker(struct pc_supervisor *s)
{
	pc_notify_serve_broker(s->how.notify);
	if (pc_notify_broker(s->how.notify) >= 0 || s->result.has_status || s->is_killed)
		return;
	s->result.is_broker_lost = true;
	kill_run(s);
}

static void serve_polls(struct pc_supervisor *s, const struct pollfd *polls)
{
	if (polls[WATCH_OUT].revents)
		read_output(s, &s->out);
	if (polls[WATCH_ERR].revents)
		read_output(s, &s->err);
	if (polls[WATCH_OUT_TO].revents)
		write_output(s, &s->out);
	if (polls[WATCH_ERR_TO].revents)
		write_output(s, &s->err);
	if (polls[WATCH_STATUS].revents)
		read_status(s);
	if (polls[WATCH_SOURCE].revents & POLLIN || (polls[WATCH_SOURCE].revents && polls[WATCH_SOURCE].events))
		read_source(s);
	else if (polls[WATCH_SOURCE].revents)
		note_hang_up(s);
	if (polls[WATCH_IN].revents & POLLOUT)
		write_input(s);
	else if (polls[WATCH_IN].revents)
		close_at(&s->in.to);
	close_finished_input(s);
	if (polls[WATCH_CANCEL].revents)
		read_cancel(s);
	if (polls[WATCH_WAKE].revents)
		read_wake(s);
	if (polls[WATCH_BROKER].revents)
		serve_broker(s);
	if (polls[WATCH_LISTENER].revents & POLLIN)
		pc_notify_serve_listener(s->how.notify);
	else if (polls[WATCH_LISTENER].revents)
		pc_notify_drop_listener(s->how.notify);
	if (polls[WATCH_AUDIT].revents)
		pc_audit_read(s->how.audit);
	if (polls[WATCH_INIT].revents) {
		s->init_is_dead = true;
		note_end(s);
	}
}

/*
 * A caller that does not read his own descriptor holds us up, as he would the command itself, but for a run that was ended
 * before its time: that one returns after a grace. A live stream gives one piece a turn.
 */
static void drain_stream(struct pc_supervisor *s, struct stream *stream)
{
	bool was_ended = s->result.is_timed_out || s->result.cancel_signal;

	for (;;) {
		struct pollfd room = { .fd = stream->to, .events = POLLOUT };

		while (read_output(s, stream))
			;
		if (!stream->left || stream->to < 0)
			return;
		if (poll(&room, 1, was_ended ? DRAIN_GRACE_MS : -1) == 0)
			return;
		write_output(s, stream);
	}
}

/* Init's last word may have come with its death. */
static void drain_status(struct pc_supervisor *s)
{
	while (s->process.status_fd >= 0 && !s->result.has_status) {
		struct pollfd ready = { .fd = s->process.status_fd, .events = POLLIN };

		if (poll(&ready, 1, 0) <= 0)
			break;
		read_status(s);
	}
}

static void drain(struct pc_supervisor *s)
{
	drain_status(s);
	drain_stream(s, &s->out);
	drain_stream(s, &s->err);
	s->is_drained = !s->how.is_live || (!s->out.left && !s->err.left);
}

static int set_nonblocking(int fd)
{
	int flags;

	if (fd < 0)
		return 0;
	flags = fcntl(fd, F_GETFL);
	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static int prepare(struct pc_supervisor *s)
{
	const struct pc_supervision *how = &s->how;
	int rc;

	/* Only our ends of our pipes: the flag belongs to the open file, which the command does not share. */
	rc = set_nonblocking(how->out_fd);
	if (rc == 0)
		rc = set_nonblocking(how->err_fd);
	if (rc == 0)
		rc = set_nonblocking(how->in_fd);
	s->out.buffer = malloc(CHUNK);
	s->err.buffer = malloc(CHUNK);
	s->in_buffer = malloc(CHUNK);
	if (rc == 0 && (!s->out.buffer || !s->err.buffer || !s->in_buffer))
		rc = -ENOMEM;
	return rc;
}

/* Whether or not waitid(2) is ours to win: a pidfd is readable when its process is dead. */
static void await_death(struct pc_supervisor *s)
{
	struct pollfd dead = { .fd = s->process.pidfd, .events = POLLIN };

	if (!s->is_killed)
		kill_run(s);
	while (poll(&dead, 1, INSIST_MS) <= 0)
		insist(s);
}

/* One turn of the loop: waits at most `timeout_ms` for something to happen, and sees to it. */
static int turn(struct pc_supervisor *s, int timeout_ms)
{
	struct pollfd polls[WATCHES];

	fill_polls(s, polls);
	if (poll(polls, WATCHES, next_timeout_ms(s, timeout_ms)) < 0) {
		if (errno != EINTR)
			return -errno;
		return 0;
	}
	serve_polls(s, polls);
	return 0;
}

int pc_supervise_step(struct pc_supervisor *s, int timeout_ms)
{
	int rc;

	if (s->is_drained)
		return 1;
	if (s->how.is_live)
		s->out.left = s->err.left = 0;
	if (!s->is_over) {
		rc = turn(s, timeout_ms);
		if (rc < 0)
			return rc;
		check_clock(s);
		if (!s->is_over || (s->how.is_live && (s->out.left || s->err.left)))
			return 0;
	}
	drain(s);
	return s->is_drained;
}

const char *pc_supervise_output(const struct pc_supervisor *s, bool is_error, size_t *size)
{
	const struct stream *stream = is_error ? &s->err : &s->out;

	*size = s->how.is_live ? stream->left : 0;
	return stream->buffer;
}

int pc_supervise_give(struct pc_supervisor *s, const char *data, size_t size)
{
	if (s->in.to < 0 || !s->in.is_open)
		return -EPIPE;
	if (s->in.left)
		return -EAGAIN;
	s->in.at = data;
	s->in.left = size;
	return 0;
}

void pc_supervise_end_input(struct pc_supervisor *s)
{
	s->in.is_open = false;
	close_finished_input(s);
}

size_t pc_supervise_ungiven(const struct pc_supervisor *s)
{
	return s->in.to < 0 ? 0 : s->in.left;
}

static void end(struct pc_supervisor *s)
{
	if (!s->is_over)
		await_death(s);
	if (s->is_over && !s->init_is_dead && s->how.may_leave_init)
		s->result.remains = pc_remains_new(&s->process);
	if (!s->result.remains)
		pc_reap(s->process.pidfd);
	/* Whatever became of init: nothing in the cgroup outlives this. */
	pc_cgroup_close(s->process.cgroup, &s->result.memory_kills);
	pc_notify_close(s->how.notify, &s->result);
	pc_audit_close(s->how.audit, &s->result.accesses);
	if (!s->result.remains)
		close_at(&s->process.pidfd);
	close_at(&s->process.status_fd);
	close_at(&s->process.control_fd);
	close_at(&s->out.from);
	close_at(&s->err.from);
	close_at(&s->in.to);
	free(s->out.buffer);
	free(s->err.buffer);
	free(s->in_buffer);
	s->result.duration_us = (uint64_t)(now_us() - s->start_us);
}

void pc_result_free(struct pc_result *result)
{
	pc_capture_free(&result->out);
	pc_capture_free(&result->err);
	pc_accesses_free(&result->accesses);
	pc_remains_end(result->remains);
}

void pc_supervise_finish(struct pc_supervisor *s, struct pc_result *result)
{
	end(s);
	*result = s->result;
	free(s);
}

int pc_supervise_start(const struct pc_process *process, const struct pc_supervision *how, struct pc_supervisor **started)
{
	struct pc_supervisor first = {
		.process = *process,
		.how = *how,
		.out = { .from = how->out_fd, .to = how->out_to_fd },
		.err = { .from = how->err_fd, .to = how->err_to_fd },
		.in = { .to = how->in_fd,
			.source = how->in_from_fd,
			.at = how->input,
			.left = how->input_size,
			.is_open = how->is_input_open },
		.start_us = now_us(),
		.deadline_us = -1,
		.kill_us = -1,
		.unfed_us = -1,
	};
	struct pc_supervisor *s;
	int rc;

	s = malloc(sizeof(*s));
	rc = s ? prepare(&first) : -ENOMEM;
	if (rc < 0) {
		end(&first);
		pc_result_free(&first.result);
		free(s);
		return rc;
	}
	*s = first;
	s->out.capture = &s->result.out;
	s->err.capture = &s->result.err;
	if (how->timeout_ms >= 0)
		s->deadline_us = s->start_us + how->timeout_ms * 1000;
	close_finished_input(s);
	resize_terminal(s);
	*started = s;
	return 0;
}
