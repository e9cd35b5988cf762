/* The reader of the kernel's audit records: whose a refusal is, what it says, and that no bytes whatever lead it astray. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/linux/audit_records.h"
#include "platform/linux/uapi.h"

#define NAME	  "pc-0123456789ab"
#define MUTATIONS 100000

static unsigned int failures;

static void expect(bool is_true, const char *what)
{
	printf("%s - %s\n", is_true ? "ok" : "not ok", what);
	if (!is_true)
		failures++;
}

/* Bytes, with no end after them. */
static void copy(char *to, const char *from, size_t size)
{
	while (size--)
		*to++ = *from++;
}

static struct pc_audit_records *open_records(void)
{
	struct pc_audit_records *records;

	if (pc_audit_records_open(NAME, &records) < 0)
		abort();
	return records;
}

static void add(struct pc_audit_records *records, unsigned int type, const char *text)
{
	pc_audit_records_add(records, type, text, strlen(text));
}

static const char own_domain[] = "audit(1.000:7): domain=1a6fdc66f status=allocated mode=enforcing pid=300 uid=0 "
				 "exe=\"/usr/bin/lua5.4\" comm=\"" NAME "\"";

static void add_own(struct pc_audit_records *records)
{
	add(records, PC_AUDIT_DOMAIN, own_domain);
}

static const struct pc_access *at(const struct pc_accesses *accesses, const char *path)
{
	size_t i;

	for (i = 0; i < accesses->count; i++)
		if (strcmp(accesses->list[i].path, path) == 0)
			return &accesses->list[i];
	return NULL;
}

static void an_event(void)
{
	struct pc_audit_records *records = open_records();
	struct pc_accesses accesses = { 0 };
	const struct pc_access *access;

	add(records, PC_AUDIT_ACCESS,
	    "audit(1.000:7): domain=1a6fdc66f blockers=fs.write_file,fs.truncate path=\"/etc/shadow\" dev=\"vda2\" ino=351");
	add_own(records);
	add(records, PC_AUDIT_SYSCALL,
	    "audit(1.000:7): arch=c000003e syscall=257 success=no exit=-13 a0=ffffff9c items=0 ppid=1 pid=301 auid=0 uid=0 "
	    "comm=\"cat\" exe=\"/usr/bin/cat\" key=(null)");
	add(records, PC_AUDIT_ACCESS,
	    "audit(1.000:8): domain=1a6fdc66f blockers=fs.read_file path=2F746D702F61206222C3A9 dev=\"vda2\" ino=352");
	add(records, PC_AUDIT_ACCESS,
	    "audit(1.000:9): domain=1a6fdc66f blockers=fs.make_reg,fs.refer path=\"/usr/local\" dev=\"vda2\" ino=353");
	add(records, PC_AUDIT_SYSCALL, "audit(1.000:9): arch=c000003e syscall=86 success=no exit=-18 comm=6120622E63");
	add(records, PC_AUDIT_ACCESS, "audit(1.000:10): domain=1a6fdc66f blockers=fs.read_file path=\"/etc/shadow\" ino=351");
	pc_audit_records_close(records, &accesses);
	expect(accesses.is_recorded && accesses.is_audited && !accesses.is_observed && !accesses.lost && !accesses.more &&
		       accesses.count == 3,
	       "what a run's own domain refuses is listed, each path once");
	access = at(&accesses, "/etc/shadow");
	expect(access && access->count == 2 &&
		       access->refused ==
			       (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_READ_FILE) &&
		       access->error == 13 && access->is_exact && !access->is_about_entries,
	       "the refusal that comes before its domain's name counts, and rights add up");
#ifdef __x86_64__
	expect(access && !strcmp(access->call, "openat"), "the system call is the event's");
#endif
	expect(access && !strcmp(access->process, "cat"), "the process is the event's");
	expect(at(&accesses, "/tmp/a b\"\303\251") != NULL, "a path in hexadecimal is read");
	access = at(&accesses, "/usr/local");
	expect(access && access->is_about_entries && access->error == 18 && !strcmp(access->process, "a b.c"),
	       "what stands in a directory is told as its entries, with the errno of the call");
	pc_accesses_free(&accesses);
}

static void others(void)
{
	struct pc_audit_records *records = open_records();
	struct pc_accesses accesses = { 0 };
	char text[256];
	int i;

	add(records, PC_AUDIT_ACCESS, "audit(1.000:1): domain=5 blockers=fs.read_file path=\"/theirs\" ino=1");
	add(records, PC_AUDIT_DOMAIN,
	    "audit(1.000:1): domain=5 status=allocated mode=enforcing pid=300 comm=\"pc-0123456789ac\"");
	add(records, PC_AUDIT_ACCESS, "audit(1.000:2): domain=5 blockers=fs.read_file path=\"/theirs\" ino=1");
	add_own(records);
	add(records, PC_AUDIT_DOMAIN,
	    "audit(1.000:3): domain=6 status=allocated mode=enforcing pid=300 comm=\"pc\" x=\"" NAME "\"");
	add(records, PC_AUDIT_ACCESS, "audit(1.000:3): domain=6 blockers=fs.read_file path=\"/nested\" ino=1");
	/* One that was named before anybody listened: it neither hides ours nor makes it look incomplete. */
	for (i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "audit(1.000:%d): domain=4 blockers=fs.read_file path=\"/older%d\" ino=1", 10 + i,
			 i);
		add(records, PC_AUDIT_ACCESS, text);
	}
	add(records, PC_AUDIT_ACCESS, "audit(1.000:9): domain=1a6fdc66f blockers=fs.read_dir path=\"/mine\" ino=1");
	add(records, PC_AUDIT_ACCESS, "audit(1.000:9): domain=1a6fdc66f blockers=scope.signal opid=1 ocomm=\"systemd\"");
	add(records, PC_AUDIT_DOMAIN, "audit(1.000:9): domain=1a6fdc66f status=deallocated denials=2");
	pc_audit_records_close(records, &accesses);
	expect(accesses.count == 1 && at(&accesses, "/mine"),
	       "refusals of other runs and of a sandbox inside are nobody's here");
	expect(!accesses.lost && !accesses.more, "nothing is missed where nothing is missing");
	pc_accesses_free(&accesses);
}

static void lost(void)
{
	struct pc_audit_records *records = open_records();
	struct pc_accesses accesses = { 0 };
	char text[256];
	int i;

	add_own(records);
	add(records, PC_AUDIT_ACCESS, "audit(1.000:8): domain=1a6fdc66f blockers=fs.read_file path=\"/a\" ino=1");
	add(records, PC_AUDIT_DOMAIN, "audit(1.000:9): domain=1a6fdc66f status=deallocated denials=5");
	pc_audit_records_close(records, &accesses);
	expect(accesses.lost == 4, "refusals that the kernel counted and did not tell are missed");
	pc_accesses_free(&accesses);

	records = open_records();
	add(records, PC_AUDIT_ACCESS, "audit(1.000:8): domain=1a6fdc66f blockers=fs.read_file path=\"/a\" ino=1");
	for (i = 0; i < 100; i++)
		add(records, PC_AUDIT_ACCESS, "audit(1.000:9): domain=4 blockers=fs.read_file path=\"/b\" ino=1");
	add_own(records);
	pc_audit_records_lose(records, 1);
	pc_audit_records_close(records, &accesses);
	expect(accesses.lost == 2 && !accesses.count, "a refusal that waited too long for its domain is missed");
	pc_accesses_free(&accesses);

	records = open_records();
	add_own(records);
	for (i = 0; i < 400; i++) {
		snprintf(text, sizeof(text), "audit(1.000:%d): domain=1a6fdc66f blockers=fs.read_file path=\"/f%d\" ino=1", i,
			 i);
		add(records, PC_AUDIT_ACCESS, text);
	}
	add(records, PC_AUDIT_ACCESS, "audit(1.000:9): domain=1a6fdc66f blockers=fs.read_file path=\"<too_long>\" ino=1");
	pc_audit_records_close(records, &accesses);
	expect(accesses.count == 256 && accesses.more == 145,
	       "paths beyond what is kept are counted, and those that cannot be told");
	pc_accesses_free(&accesses);
}

static void with_an_observer(void)
{
	struct pc_audit_records *records = open_records();
	struct pc_accesses accesses = { .is_recorded = true, .is_observed = true, .more = 3, .count = 2 };

	accesses.list = calloc(2, sizeof(*accesses.list));
	if (!accesses.list)
		abort();
	accesses.list[0] = (struct pc_access) { .path = strdup("/a"), .refused = 4, .count = 7, .error = 30 };
	accesses.list[1] = (struct pc_access) { .path = strdup("/b"), .refused = 2, .count = 1, .error = 30 };
	add_own(records);
	add(records, PC_AUDIT_ACCESS, "audit(1.000:8): domain=1a6fdc66f blockers=fs.read_file path=\"/a\" ino=1");
	pc_audit_records_close(records, &accesses);
	expect(accesses.count == 2 && accesses.is_observed && accesses.is_audited && accesses.more == 3 &&
		       at(&accesses, "/a")->count == 7 && at(&accesses, "/a")->is_exact && at(&accesses, "/a")->error == 13 &&
		       !at(&accesses, "/b")->is_exact && at(&accesses, "/b")->error == 30,
	       "what an observer saw comes to it, and what both have is one");
	pc_accesses_free(&accesses);
}

static void malformed(void)
{
	static const char *const bad[] = {
		"",
		"audit(",
		"audit(1.0:",
		"audit(1.0:1",
		"audit(1.0:1)",
		"audit(1.0:1):",
		"audit(1.0:99999999999999999999999): domain=1a6fdc66f blockers=fs.read_file path=\"/x\"",
		"domain=1a6fdc66f blockers=fs.read_file path=\"/x\"",
		"audit(1.0:1): domain= blockers=fs.read_file path=\"/x\"",
		"audit(1.0:1): domain=zz blockers=fs.read_file path=\"/x\"",
		"audit(1.0:1): domain=11111111111111111 blockers=fs.read_file path=\"/x\"",
		"audit(1.0:1): domain=1a6fdc66f",
	};
	static const char *const pathless[] = {
		"audit(1.0:1): domain=1a6fdc66f blockers=fs.read_file",
		"audit(1.0:1): domain=1a6fdc66f blockers=fs.read_file path=",
		"audit(1.0:1): domain=1a6fdc66f blockers=fs.read_file path=\"",
		"audit(1.0:1): domain=1a6fdc66f blockers=fs.read_file path=2F0",
		"audit(1.0:1): domain=1a6fdc66f blockers=fs.read_file path=2F002F",
		"audit(1.0:1): domain=1a6fdc66f blockers=fs.read_file path=2Fgg",
		"audit(1.0:1): domain=1a6fdc66f blockers=fs.read_file path=\"relative\"",
	};
	struct pc_audit_records *records = open_records();
	struct pc_accesses accesses = { 0 };
	static char huge[200000];
	size_t i;

	add_own(records);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		add(records, PC_AUDIT_ACCESS, bad[i]);
	for (i = 0; i < sizeof(pathless) / sizeof(pathless[0]); i++)
		add(records, PC_AUDIT_ACCESS, pathless[i]);
	memset(huge, 'a', sizeof(huge));
	copy(huge, "audit(1.0:1): domain=1a6fdc66f blockers=fs.read_file path=\"/", 60);
	huge[sizeof(huge) - 1] = '"';
	pc_audit_records_add(records, PC_AUDIT_ACCESS, huge, sizeof(huge));
	add(records, PC_AUDIT_ACCESS, "audit(1.0:1): domain=1a6fdc66f blockers=fs.unheard_of,net.bind_tcp path=\"/x\"");
	pc_audit_records_close(records, &accesses);
	expect(!accesses.count && accesses.lost == sizeof(bad) / sizeof(bad[0]), "a record that cannot be read is a lost one");
	expect(accesses.more == sizeof(pathless) / sizeof(pathless[0]) + 1,
	       "a refusal without a path is one of those not listed");
	pc_accesses_free(&accesses);
}

static void mutations(void)
{
	static const char *const seeds[] = {
		own_domain,
		"audit(1.000:8): domain=1a6fdc66f blockers=fs.read_file,fs.refer path=2F746D70 dev=\"vda2\" ino=352",
		"audit(1.000:8): domain=1a6fdc66f status=deallocated denials=5",
		"audit(1.000:8): arch=c000003e syscall=257 success=no exit=-13 comm=\"cat\"",
	};
	static const unsigned int types[] = { PC_AUDIT_DOMAIN, PC_AUDIT_ACCESS, PC_AUDIT_DOMAIN, PC_AUDIT_SYSCALL };
	struct pc_audit_records *records = open_records();
	struct pc_accesses accesses = { 0 };
	unsigned int random = 1, i;

	for (i = 0; i < MUTATIONS; i++) {
		const char *seed = seeds[i % 4];
		size_t size = strlen(seed), at_byte;
		char *text = malloc(size); /* of its own size: an overrun is an error of the sanitizer's */

		if (!text)
			abort();
		copy(text, seed, size);
		random = random * 1103515245u + 12345u;
		at_byte = (random >> 8) % size;
		if (random & 0x40000000u)
			text[at_byte] = (char)(random >> 3);
		pc_audit_records_add(records, types[i % 4], text, random & 0x20000000u ? at_byte : size);
		free(text);
	}
	pc_audit_records_close(records, &accesses);
	expect(accesses.count <= 256, "no bytes lead it astray");
	pc_accesses_free(&accesses);
}

int main(void)
{
	an_event();
	others();
	lost();
	with_an_observer();
	malformed();
	mutations();
	return failures > 0;
}
