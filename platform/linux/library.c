/* Where a shared library lies, and who sees its symbols. */
#include "../platform.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int pc_library_file(const void *inside, char *path, size_t size)
{
	char resolved[PATH_MAX];
	Dl_info info;

	if (!dladdr(inside, &info) || !info.dli_fname)
		return -ENOENT;
	if (!realpath(info.dli_fname, resolved))
		return -errno;
	if (strlen(resolved) >= size)
		return -ENAMETOOLONG;
	memcpy(path, resolved, strlen(resolved) + 1);
	return 0;
}

void pc_library_share(const void *inside)
{
	Dl_info info;
	void *handle = NULL;

	if (dladdr(inside, &info) && info.dli_fname)
		handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
	/* What it was made stays; the count is given back. */
	if (handle)
		dlclose(handle);
}
