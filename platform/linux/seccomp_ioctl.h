/* Which requests of ioctl a filter lets through. */
#ifndef PROCAGE_LINUX_SECCOMP_IOCTL_H
#define PROCAGE_LINUX_SECCOMP_IOCTL_H

struct pc_filter_spec;
struct program;

/* The call's block, as seccomp_blocks.h has them. */
void pc_ioctl_block(struct program *p, const struct pc_filter_spec *spec);

#endif
