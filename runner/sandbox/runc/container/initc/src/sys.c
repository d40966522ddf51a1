#include "sys.h"

/* The kernel starts a program here, with argc, argv and envp on its stack (execve(2)); a function wants that aligned. */
#if defined(__x86_64__)
__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n"
	".type _start, %function\n"
	"_start:\n"
	"	mov x29, 0\n"
	"	mov x30, 0\n"
	"	mov x0, sp\n"
	"	bl start\n");
#endif

int main(int argc, char **argv, char **envp);

__attribute__((noreturn, used)) void start(long *stack)
{
	int argc = (int)stack[0];
	char **argv = (char **)(stack + 1);

	_exit(main(argc, argv, argv + argc + 1));
}

/* Without it a compiler sees what a loop does, and makes of memcpy a call of memcpy. */
#define KEEP_LOOP __asm__ volatile("")

size_t strlen(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		KEEP_LOOP;
	return n;
}

int strcmp(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return (unsigned char)*a - (unsigned char)*b;
}

const char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return s;
}

void *memcpy(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		KEEP_LOOP;
		((char *)to)[i] = ((const char *)from)[i];
	}
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	if ((uintptr_t)to <= (uintptr_t)from)
		return memcpy(to, from, size);
	while (size-- > 0) {
		KEEP_LOOP;
		((char *)to)[size] = ((const char *)from)[size];
	}
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		KEEP_LOOP;
		((char *)to)[i] = (char)byte;
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *one = a, *other = b;

	for (size_t i = 0; i < size; i++)
		if (one[i] != other[i])
			return one[i] - other[i];
	return 0;
}
