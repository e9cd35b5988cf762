#include "audit_records.h"
#include "access_log.h"
#include "caller.h"
#include "uapi.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_REFUSED 256 /* distinct paths that are kept, as the observer's */
#define MAX_OWN	    8
#define MAX_OTHERS  64
#define MAX_WAITING 64
#define MAX_EVICTED 16
#define MAX_RECENT  64

/* Rights on a directory that are about what stands in it. */
#define ENTRY_RIGHTS                                                                                     \
	(LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |      \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |    \
	 LANDLOCK_ACCESS_FS_REFER)

/* One refusal. The kernel names the domain after it: until then nobody knows whose it is. */
struct refusal {
	uint64_t domain, serial, rights;
	char *path; /* NULL: of something that has no path; malloc'ed */
	char call[24], process[16];
	int error;
};

struct own_domain {
	uint64_t id, seen;
};

/* Which entry of the log an event has added to: its record of the system call comes last. */
struct recent {
	uint64_t serial;
	size_t at;
};

struct pc_audit_records {
	char name[16];
	struct pc_access_log log;
	struct own_domain own[MAX_OWN];
	size_t own_count;
	uint64_t others[MAX_OTHERS], evicted[MAX_EVICTED];
	size_t others_at, evicted_at;
	struct refusal waiting[MAX_WAITING]; /* oldest first */
	size_t waiting_count;
	struct recent recent[MAX_RECENT];
	size_t recent_at;
};

/* ---- the text ------------------------------------------------------------------------------------------------------------- */

struct text {
	const char *at;
	size_t size;
};

/* The value of `key`. Values have no space in them: the kernel writes what has one in hexadecimal. */
static bool find(struct text record, const char *key, struct text *value)
{
	size_t size = strlen(key), at = 0, end;

	while (at < record.size) {
		for (end = at; end < record.size && record.at[end] != ' '; end++)
			;
		if (end - at > size && record.at[at + size] == '=' && memcmp(record.at + at, key, size) == 0) {
			*value = (struct text) { record.at + at + size + 1, end - at - size - 1 };
			return true;
		}
		at = end + 1;
	}
	return false;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool number_of(struct text text, unsigned int base, uint64_t *number)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < text.size; i++) {
		int digit = digit_of(text.at[i]);

		if (digit < 0 || (unsigned int)digit >= base || value > (UINT64_MAX - (unsigned int)digit) / base)
			return false;
		value = value * base + (unsigned int)digit;
	}
	*number = value;
	return text.size > 0;
}

static bool find_number(struct text record, const char *key, unsigned int base, uint64_t *number)
{
	struct text value;

	return find(record, key, &value) && number_of(value, base, number);
}

/* A string from outside the kernel: in quotes, or as hexadecimal. Source: audit_log_n_untrustedstring(). */
static bool find_string(struct text record, const char *key, char *string, size_t room)
{
	struct text value;
	size_t i;

	if (!find(record, key, &value))
		return false;
	if (value.size >= 2 && value.at[0] == '"' && value.at[value.size - 1] == '"') {
		if (value.size - 2 >= room)
			return false;
		memcpy(string, value.at + 1, value.size - 2);
		string[value.size - 2] = '\0';
		return true;
	}
	if (!value.size || value.size % 2 || value.size / 2 >= room)
		return false;
	for (i = 0; i < value.size; i += 2) {
		int high = digit_of(value.at[i]), low = digit_of(value.at[i + 1]);

		if (high < 0 || low < 0 || !(high | low))
			return false;
		string[i / 2] = (char)(high << 4 | low);
	}
	string[value.size / 2] = '\0';
	return true;
}

/* What comes before the fields: "audit(SECONDS.MILLISECONDS:SERIAL): ". */
static bool skip_stamp(struct text *record, uint64_t *serial)
{
	static const char start[] = "audit(";
	struct text number;
	size_t at = sizeof(start) - 1, begin;

	if (record->size < at || memcmp(record->at, start, at) != 0)
		return false;
	while (at < record->size && record->at[at] != ':' && record->at[at] != ' ')
		at++;
	if (at == record->size || record->at[at] != ':')
		return false;
	begin = ++at;
	while (at < record->size && digit_of(record->at[at]) >= 0)
		at++;
	number = (struct text) { record->at + begin, at - begin };
	if (record->size - at < 3 || memcmp(record->at + at, "): ", 3) != 0 || !number_of(number, 10, serial))
		return false;
	*record = (struct text) { record->at + at + 3, record->size - at - 3 };
	return true;
}

/* "fs.read_file" of the kernel is our table's READ_FILE. */
static uint64_t right_of(struct text name)
{
	const struct pc_landlock_bit *bit;

	if (name.size < 4 || memcmp(name.at, "fs.", 3) != 0)
		return 0;
	for (bit = pc_landlock_bits(PC_LANDLOCK_FS); bit->name; bit++)
		if (strlen(bit->name) == name.size - 3 && strncasecmp(bit->name, name.at + 3, name.size - 3) == 0)
			return bit->bit;
	return 0;
}

static uint64_t rights_of(struct text blockers)
{
	uint64_t rights = 0;
	size_t at, end;

	for (at = 0; at < blockers.size; at = end + 1) {
		for (end = at; end < blockers.size && blockers.at[end] != ','; end++)
			;
		rights |= right_of((struct text) { blockers.at + at, end - at });
	}
	return rights;
}

/* ---- whose it is ---------------------------------------------------------------------------------------------------------- */

static struct own_domain *own_domain(struct pc_audit_records *r, uint64_t id)
{
	size_t i;

	for (i = 0; i < r->own_count; i++)
		if (r->own[i].id == id)
			return &r->own[i];
	return NULL;
}

static bool has(const uint64_t *list, size_t count, uint64_t id)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (list[i] == id)
			return true;
	return false;
}

static void keep_recent(struct pc_audit_records *r, uint64_t serial, const struct pc_access *entry)
{
	r->recent[r->recent_at++ % MAX_RECENT] = (struct recent) { serial, (size_t)(entry - r->log.seen.list) + 1 };
}

static void note(struct pc_audit_records *r, struct own_domain *domain, const struct refusal *refusal)
{
	struct pc_access *entry;

	domain->seen++;
	if (!refusal->path)
		return;
	entry = pc_access_log_entry(&r->log, refusal->path);
	if (!entry)
		return;
	if (!entry->count) {
		memcpy(entry->call, refusal->call, sizeof(entry->call));
		memcpy(entry->process, refusal->process, sizeof(entry->process));
		entry->error = refusal->error;
		keep_recent(r, refusal->serial, entry);
	}
	entry->wanted |= refusal->rights;
	entry->refused |= refusal->rights;
	entry->is_about_entries = entry->refused & ENTRY_RIGHTS;
	entry->is_exact = true;
	entry->count++;
}

static void drop_waiting(struct pc_audit_records *r, size_t at)
{
	free(r->waiting[at].path);
	r->waiting_count--;
	memmove(&r->waiting[at], &r->waiting[at + 1], (r->waiting_count - at) * sizeof(r->waiting[0]));
}

/* A domain that was named before anybody listened is never named again: its refusals would wait for ever. */
static void make_room(struct pc_audit_records *r)
{
	if (r->waiting_count < MAX_WAITING)
		return;
	if (!has(r->evicted, MAX_EVICTED, r->waiting[0].domain))
		r->evicted[r->evicted_at++ % MAX_EVICTED] = r->waiting[0].domain;
	drop_waiting(r, 0);
}

static void settle_waiting(struct pc_audit_records *r, uint64_t id, struct own_domain *domain)
{
	size_t i = 0;

	while (i < r->waiting_count) {
		if (r->waiting[i].domain != id) {
			i++;
			continue;
		}
		if (domain)
			note(r, domain, &r->waiting[i]);
		drop_waiting(r, i);
	}
}

/* ---- the records ---------------------------------------------------------------------------------------------------------- */

static void add_access(struct pc_audit_records *r, uint64_t serial, struct text record)
{
	struct refusal refusal = { .serial = serial, .error = EACCES };
	struct own_domain *domain;
	struct text blockers;
	char path[PATH_MAX];

	if (!find_number(record, "domain", 16, &refusal.domain) || !find(record, "blockers", &blockers)) {
		r->log.seen.lost++;
		return;
	}
	domain = own_domain(r, refusal.domain);
	if (!domain && has(r->others, MAX_OTHERS, refusal.domain))
		return;
	refusal.rights = rights_of(blockers);
	if (refusal.rights && find_string(record, "path", path, sizeof(path)) && path[0] == '/')
		refusal.path = strdup(path);
	if (domain) {
		/* A file without a path that can be told is one of those that are not listed. */
		if (refusal.rights && !refusal.path)
			r->log.seen.more++;
		note(r, domain, &refusal);
		free(refusal.path);
		return;
	}
	make_room(r);
	r->waiting[r->waiting_count++] = refusal;
}

/* The kernel says how many refusals there were. Those that an audit rule of the host's keeps out are in that number too. */
static void end_domain(struct pc_audit_records *r, uint64_t id, struct text record)
{
	struct own_domain *domain = own_domain(r, id);
	uint64_t refusals;

	if (!domain || !find_number(record, "denials", 10, &refusals) || refusals <= domain->seen)
		return;
	r->log.seen.lost += refusals - domain->seen;
	domain->seen = refusals;
}

static void add_domain(struct pc_audit_records *r, struct text record)
{
	static const char allocated[] = "allocated";
	struct text status;
	char name[16];
	uint64_t id;

	if (!find_number(record, "domain", 16, &id) || !find(record, "status", &status))
		return;
	if (status.size != sizeof(allocated) - 1 || memcmp(status.at, allocated, status.size) != 0) {
		end_domain(r, id, record);
		return;
	}
	if (own_domain(r, id)) /* it may be named more than once */
		return;
	if (!find_string(record, "comm", name, sizeof(name)) || strcmp(name, r->name) != 0 || r->own_count == MAX_OWN) {
		settle_waiting(r, id, NULL);
		if (!has(r->others, MAX_OTHERS, id))
			r->others[r->others_at++ % MAX_OTHERS] = id;
		return;
	}
	r->own[r->own_count] = (struct own_domain) { .id = id };
	settle_waiting(r, id, &r->own[r->own_count++]);
	if (has(r->evicted, MAX_EVICTED, id))
		r->log.seen.lost++;
}

static void describe(char call[24], char process[16], int *error, struct text record)
{
	struct text exit;
	uint64_t number;

	if (find_number(record, "syscall", 10, &number) && number < INT_MAX)
		pc_call_name((int)number, call, 24);
	find_string(record, "comm", process, 16);
	if (find(record, "exit", &exit) && exit.size > 1 && exit.at[0] == '-' &&
	    number_of((struct text) { exit.at + 1, exit.size - 1 }, 10, &number) && number < 4096)
		*error = (int)number;
}

static void add_call(struct pc_audit_records *r, uint64_t serial, struct text record)
{
	size_t i;

	for (i = 0; i < r->waiting_count; i++) {
		struct refusal *refusal = &r->waiting[i];

		if (refusal->serial == serial)
			describe(refusal->call, refusal->process, &refusal->error, record);
	}
	for (i = 0; i < MAX_RECENT; i++) {
		struct pc_access *entry;

		if (!r->recent[i].at || r->recent[i].serial != serial)
			continue;
		entry = &r->log.seen.list[r->recent[i].at - 1];
		describe(entry->call, entry->process, &entry->error, record);
		r->recent[i].at = 0;
	}
}

int pc_audit_records_open(const char *name, struct pc_audit_records **opened)
{
	struct pc_audit_records *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	strncpy(r->name, name, sizeof(r->name) - 1);
	r->log.most = MAX_REFUSED;
	r->log.seen.is_recorded = r->log.seen.is_audited = true;
	*opened = r;
	return 0;
}

void pc_audit_records_add(struct pc_audit_records *r, unsigned int type, const char *text, size_t size)
{
	struct text record = { text, size };
	uint64_t serial;

	while (record.size && (record.at[record.size - 1] == '\0' || record.at[record.size - 1] == '\n'))
		record.size--;
	if (!skip_stamp(&record, &serial)) {
		r->log.seen.lost += type == PC_AUDIT_ACCESS;
		return;
	}
	if (type == PC_AUDIT_ACCESS)
		add_access(r, serial, record);
	else if (type == PC_AUDIT_DOMAIN)
		add_domain(r, record);
	else if (type == PC_AUDIT_SYSCALL)
		add_call(r, serial, record);
}

void pc_audit_records_lose(struct pc_audit_records *r, uint64_t count)
{
	r->log.seen.lost += count;
}

/* What the observer has seen too is one thing with what the kernel says: counted once. */
static void add_observed(struct pc_audit_records *r, const struct pc_accesses *observed)
{
	size_t i;

	r->log.most += observed->count;
	for (i = 0; i < observed->count; i++) {
		const struct pc_access *seen = &observed->list[i];
		struct pc_access *entry = pc_access_log_entry(&r->log, seen->path);

		if (!entry)
			continue;
		if (!entry->count) {
			char *path = entry->path;

			*entry = *seen;
			entry->path = path;
			continue;
		}
		entry->wanted |= seen->wanted;
		entry->refused |= seen->refused;
		if (seen->count > entry->count)
			entry->count = seen->count;
	}
	r->log.seen.more += observed->more;
	r->log.seen.is_observed = true;
}

void pc_audit_records_close(struct pc_audit_records *r, struct pc_accesses *accesses)
{
	if (!r)
		return;
	while (r->waiting_count)
		drop_waiting(r, r->waiting_count - 1);
	if (accesses && accesses->is_recorded)
		add_observed(r, accesses);
	if (accesses)
		pc_accesses_free(accesses);
	pc_access_log_close(&r->log, accesses);
	free(r);
}
