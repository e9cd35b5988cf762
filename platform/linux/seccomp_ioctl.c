/*
 * ioctl by allow-list: what programs ask of terminals, descriptors, sockets and files, by request number.
 *
 * An ioctl on a directory or file needs no right but to open it for reading. Landlock looks at those on devices alone, and a read-only
 * mount does not stop the ones that leave it as it is. So a request by number can copy what is hidden
 * (BTRFS_IOC_SNAP_CREATE with a descriptor of the home), lock or freeze what lies outside (BTRFS_IOC_SUBVOL_SETFLAGS,
 * FS_IOC_ENABLE_VERITY), or take the user's file system keys away (FS_IOC_REMOVE_ENCRYPTION_KEY); each file system brings more of
 * them. Terminals have TIOCSTI and TIOCLINUX, which type into them.
 *
 * ENOTTY for the rest: what the kernel says of a request that it does not know on this descriptor, so programs go on without.
 */
#include "seccomp_ioctl.h"
#include "seccomp_program.h"

#include <errno.h>

/*
 * In ascending order, for the search. Left out of ordinary families on purpose: TIOCEXCL (nobody else opens the terminal any
 * more), TIOCSETD, TIOCCONS, TIOCVHANGUP; FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR, which change files outside where no mount tree
 * holds them (chattr says so, and goes on); every request of a namespace's or a pidfd's that comes in several sizes.
 */
static const uint32_t requests[] = {
	0x00000002, /* FIGETBSZ */
	0x00005401, /* TCGETS */
	0x00005402, /* TCSETS */
	0x00005403, /* TCSETSW */
	0x00005404, /* TCSETSF */
	0x00005405, /* TCGETA */
	0x00005406, /* TCSETA */
	0x00005407, /* TCSETAW */
	0x00005408, /* TCSETAF */
	0x00005409, /* TCSBRK */
	0x0000540a, /* TCXONC */
	0x0000540b, /* TCFLSH */
	0x0000540e, /* TIOCSCTTY */
	0x0000540f, /* TIOCGPGRP */
	0x00005410, /* TIOCSPGRP */
	0x00005411, /* TIOCOUTQ, SIOCOUTQ */
	0x00005413, /* TIOCGWINSZ */
	0x00005414, /* TIOCSWINSZ */
	0x00005415, /* TIOCMGET */
	0x0000541b, /* FIONREAD: TIOCINQ, SIOCINQ */
	0x00005420, /* TIOCPKT */
	0x00005421, /* FIONBIO */
	0x00005422, /* TIOCNOTTY */
	0x00005424, /* TIOCGETD */
	0x00005425, /* TCSBRKP */
	0x00005429, /* TIOCGSID */
	0x00005441, /* TIOCGPTPEER */
	0x00005450, /* FIONCLEX */
	0x00005451, /* FIOCLEX */
	0x00005452, /* FIOASYNC */
	0x00005460, /* FIOQSIZE */
	0x00008905, /* SIOCATMARK */
	0x00008910, /* SIOCGIFNAME */
	0x00008912, /* SIOCGIFCONF */
	0x00008913, /* SIOCGIFFLAGS */
	0x00008915, /* SIOCGIFADDR */
	0x00008917, /* SIOCGIFDSTADDR */
	0x00008919, /* SIOCGIFBRDADDR */
	0x0000891b, /* SIOCGIFNETMASK */
	0x0000891d, /* SIOCGIFMETRIC */
	0x00008921, /* SIOCGIFMTU */
	0x00008927, /* SIOCGIFHWADDR */
	0x00008933, /* SIOCGIFINDEX */
	0x00008942, /* SIOCGIFTXQLEN */
	0x00008946, /* SIOCETHTOOL: psutil; what it sets needs CAP_NET_ADMIN, which nobody has */
	0x00008970, /* SIOCGIFMAP */
	0x0000b701, /* NS_GET_USERNS */
	0x0000b702, /* NS_GET_PARENT */
	0x0000b703, /* NS_GET_NSTYPE */
	0x0000b704, /* NS_GET_OWNER_UID */
	0x40045431, /* TIOCSPTLCK */
	0x40045436, /* TIOCSIG: of the holder of a pseudo-terminal's other end */
	0x40049409, /* FICLONE */
	0x40082102, /* SECCOMP_IOCTL_NOTIF_ID_VALID: of a listener that the command made itself, and so the other four */
	0x40082104, /* SECCOMP_IOCTL_NOTIF_SET_FLAGS */
	0x40182103, /* SECCOMP_IOCTL_NOTIF_ADDFD */
	0x4020940d, /* FICLONERANGE */
	0x402c542b, /* TCSETS2 */
	0x402c542c, /* TCSETSW2 */
	0x402c542d, /* TCSETSF2 */
	0x80045200, /* RNDGETENTCNT */
	0x80045430, /* TIOCGPTN */
	0x80045438, /* TIOCGPKT */
	0x80045439, /* TIOCGPTLCK */
	0x80086601, /* FS_IOC_GETFLAGS */
	0x80087601, /* FS_IOC_GETVERSION */
	0x801c581f, /* FS_IOC_FSGETXATTR */
	0x802c542a, /* TCGETS2 */
	0xc0182101, /* SECCOMP_IOCTL_NOTIF_SEND */
	0xc0189436, /* FIDEDUPERANGE: only what is the same already */
	0xc020660b, /* FS_IOC_FIEMAP */
	0xc0502100, /* SECCOMP_IOCTL_NOTIF_RECV */
	0xc0686611, /* PROCMAP_QUERY */
};

/* A run of comparisons with one end: shorter than a return behind each. */
static void one_of(struct program *p, const uint32_t *first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, first[i], (uint8_t)(count - i), 0);
	ret(p, REFUSE(ENOTTY));
	ret(p, ALLOW);
}

#define FEW 4

/* The loaded word is looked for by halving: each isatty would pay for a chain of seventy. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the list can be halved */
static void search(struct program *p, const uint32_t *first, size_t count)
{
	size_t half = count / 2, mark;

	if (count <= FEW) {
		one_of(p, first, count);
		return;
	}
	mark = begin_if_below(p, first[half]);
	search(p, first, half);
	end_below(p, mark);
	search(p, first + half, count - half);
}

void pc_ioctl_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	/* The kernel reads an unsigned int. */
	load_arg_low(p, 1);
	search(p, requests, sizeof(requests) / sizeof(requests[0]));
}
