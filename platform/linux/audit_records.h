/*
 * Landlock's records in the kernel's audit log: which of them are a run's, and what they say was refused.
 * Source: Documentation/admin-guide/LSM/landlock.rst, Linux 6.15.
 */
#ifndef PROCAGE_LINUX_AUDIT_RECORDS_H
#define PROCAGE_LINUX_AUDIT_RECORDS_H

#include "../platform.h"

/* Record types. Source: linux/audit.h. */
#define PC_AUDIT_SYSCALL 1300
#define PC_AUDIT_ACCESS	 1423
#define PC_AUDIT_DOMAIN	 1424

struct pc_audit_records;

/* Of the run whose processes were called `name` when they took on their domains. Returns 0 or -ENOMEM. */
int pc_audit_records_open(const char *name, struct pc_audit_records **opened);

/* Reads one record, "audit(1729738800.268:30): domain=..."; any bytes will do, and what is not the run's is passed over. */
void pc_audit_records_add(struct pc_audit_records *records, unsigned int type, const char *text, size_t size);

/* `count` records were lost, of whomever. */
void pc_audit_records_lose(struct pc_audit_records *records, uint64_t count);

/*
 * Moves what was refused into `accesses`, together with what an observer saw and left there (is_recorded), or lets it go (NULL),
 * and closes. NULL is let be.
 */
void pc_audit_records_close(struct pc_audit_records *records, struct pc_accesses *accesses);

#endif
