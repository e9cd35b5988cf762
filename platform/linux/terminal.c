/* The user's terminal while a command has one of its own: every key goes through, Ctrl-C too. Source: termios(3). */
#include "../platform.h"

#include <errno.h>
#include <termios.h>
#include <unistd.h>

_Static_assert(sizeof(struct termios) <= PC_TERMINAL_STATE, "room for the settings");

bool pc_is_terminal(int fd)
{
	return isatty(fd);
}

int pc_terminal_raw(int fd, unsigned char *state)
{
	struct termios settings;

	if (tcgetattr(fd, &settings) < 0)
		return -errno;
	*(struct termios *)(void *)state = settings;
	cfmakeraw(&settings);
	return tcsetattr(fd, TCSANOW, &settings) < 0 ? -errno : 0;
}

int pc_terminal_restore(int fd, const unsigned char *state)
{
	return tcsetattr(fd, TCSADRAIN, (const struct termios *)(const void *)state) < 0 ? -errno : 0;
}
