/* Error objects of the C interface, and texts. */
#include "core/capi.h"

#include <stdlib.h>
#include <string.h>

struct procage_error {
	enum procage_code code;
	int number;
	const char *text; /* behind the struct */
};

static procage_error out_of_memory = { PROCAGE_E_MEMORY, 0, "not enough memory" };

procage_error *pc_error_new(enum procage_code code, int number, const char *text)
{
	size_t size = strlen(text) + 1;
	procage_error *error = malloc(sizeof(*error) + size);

	if (!error)
		return &out_of_memory;
	error->code = code;
	error->number = number;
	error->text = memcpy(error + 1, text, size);
	return error;
}

int pc_error_give(procage_error *made, procage_error **error)
{
	int code = (int)made->code;

	if (error)
		*error = made;
	else
		procage_error_free(made);
	return code;
}

int pc_error_argument(const char *text, procage_error **error)
{
	return pc_error_give(pc_error_new(PROCAGE_E_ARGUMENT, 0, text), error);
}

enum procage_code procage_error_code(const procage_error *error)
{
	return error ? error->code : PROCAGE_OK;
}

int procage_error_errno(const procage_error *error)
{
	return error ? error->number : 0;
}

const char *procage_error_text(const procage_error *error)
{
	return error ? error->text : "no error";
}

void procage_error_free(procage_error *error)
{
	if (error != &out_of_memory)
		free(error);
}

void procage_free(char *text)
{
	free(text);
}
