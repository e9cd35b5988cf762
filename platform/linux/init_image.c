/*
 * The init program's bytes, carried inside the library: no file to find at run time, and none that someone could replace.
 * PC_INIT_PATH is the freshly built program; the build makes this file depend on it.
 */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl pc_init_image\n"
	".hidden pc_init_image\n"
	".type pc_init_image, %object\n"
	"pc_init_image:\n"
	".incbin \"" PC_INIT_PATH "\"\n"
	".size pc_init_image, . - pc_init_image\n"
	".globl pc_init_image_end\n"
	".hidden pc_init_image_end\n"
	"pc_init_image_end:\n"
	".byte 0\n"
	".popsection\n");

/* A file with nothing but assembly is no translation unit in ISO C. */
extern const unsigned char pc_init_image[];
