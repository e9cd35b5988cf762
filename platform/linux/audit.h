/*
 * The kernel's own records of what Landlock refused a run: exact where the path observer is a model, and for an allowed call they
 * cost nothing. Read from the audit subsystem's multicast group, which changes nothing for the host nor for its auditd.
 */
#ifndef PROCAGE_LINUX_AUDIT_H
#define PROCAGE_LINUX_AUDIT_H

#include "../platform.h"

struct pc_audit;

/* Whether records can be read here. 0, or -errno: EPERM (no right to), ENODEV (audit is off), EXDEV (another network namespace). */
int pc_audit_try(const char **step);

/* Listens, from now on, for a run whose processes take on their domains under `name`. 0 or -errno. */
int pc_audit_open(const char *name, struct pc_audit **opened);

/* A name that no other process has: PC_AUDIT_NAME bytes with the end. 0 or -errno. */
#define PC_AUDIT_NAME 16
int pc_audit_make_name(char name[PC_AUDIT_NAME]);

int pc_audit_fd(const struct pc_audit *audit); /* readable when there are records */
void pc_audit_read(struct pc_audit *audit);    /* those that are there */

/* After the run: waits, shortly, for what is still on its way; then as pc_audit_records_close(). NULL is let be. */
void pc_audit_close(struct pc_audit *audit, struct pc_accesses *accesses);

#endif
