/* The init program's other role: keeping namespaces for runs to come. */
#ifndef PROCAGE_LINUX_INIT_HOLDER_H
#define PROCAGE_LINUX_INIT_HOLDER_H

#include "../image.h"

/* Keeps the namespaces that it is in, until the host has gone or has not used them for as long as the image says. */
__attribute__((noreturn)) void pc_hold_namespaces(const struct pc_image *image);

#endif
