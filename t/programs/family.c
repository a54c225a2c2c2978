/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family.c SECTION - every call of the malloc family at its edges.
 *
 * Each call's outcome is printed: NULL or not, errno, alignment, whether all of
 * the usable size holds what is written, whether contents survive. Nothing that
 * an allocator may choose (addresses, how much more than asked is usable) is
 * printed, so the output natively and under the tracker must be the same.
 */
#include <malloc.h>
#include <sys/mman.h>

#include "../lib/site.h"

#define ODD 12345 /* an errno that nothing sets */

static size_t page;

/* Gone from headers, but programs linked long ago still call it. */
#if defined(__x86_64__)
void cfree(void *p);
__asm__(".symver cfree, cfree@GLIBC_2.2.5");
#else
#define cfree free
#endif

static void pattern(void *p, size_t n, unsigned char first)
{
	unsigned char *b = p;
	size_t i;

	for (i = 0; i < n; i++)
		b[i] = (unsigned char)(first + i * 7);
}

static bool has_pattern(const void *p, size_t n, unsigned char first)
{
	const unsigned char *b = p;
	size_t i;

	for (i = 0; i < n; i++)
		if (b[i] != (unsigned char)(first + i * 7))
			return false;
	return true;
}

static bool aligned(const void *p, size_t to)
{
	return (uintptr_t)p % to == 0;
}

/* One line on a block; then it is filled to the last usable byte. */
static void *show(const char *what, void *p, size_t n, size_t align)
{
	int e = errno;
	size_t usable = p ? malloc_usable_size(p) : 0;

	if (!p) {
		say("%s: NULL errno %d\n", what, e);
		return p;
	}
	pattern(p, usable, 3);
	say("%s: block errno %d aligned %d usable %d holds %d\n", what, e, aligned(p, align),
	    usable >= n, has_pattern(p, usable, 3));
	return p;
}

static void *shown(const char *what, void *p, size_t n, size_t align)
{
	show(what, p, n, align);
	errno = 0;
	free(p);
	errno = ODD;
	return p;
}

/* The alignment of a block of n bytes: that of any object that fits in. */
static size_t promised(size_t n)
{
	return n >= 16 ? 16 : n >= 8 ? 8 : 1;
}

static void do_malloc(void)
{
	static const size_t sizes[] = { 0,    1,     7,      8,      9,      15,     16,      17,
					23,   24,    25,     31,     32,     1000,   1024,    1032,
					4096, 65536, 131063, 131064, 131072, 135168, 1 << 20, 3 << 20 };
	size_t i;
	char what[32];

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(what, sizeof(what), "malloc %zu", sizes[i]);
		errno = ODD;
		shown(what, keep(malloc(sizes[i])), sizes[i], promised(sizes[i]));
	}
	errno = ODD;
	shown("malloc PTRDIFF_MAX", keep(malloc(hide(PTRDIFF_MAX))), 0, 1);
	shown("malloc PTRDIFF_MAX - 7", keep(malloc(hide(PTRDIFF_MAX - 7))), 0, 1);
	shown("malloc PTRDIFF_MAX + 1", keep(malloc(hide((size_t)PTRDIFF_MAX + 1))), 0, 1);
	for (i = 0; i < 24; i++)
		shown("malloc SIZE_MAX - i", keep(malloc(hide(SIZE_MAX - i))), 0, 1);
}

static bool all_zero(const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static void do_calloc(void)
{
	static const size_t n[][2] = { { 0, 0 },        { 0, 10 },      { 10, 0 },     { 1, 1 },
				       { 3, 5 },        { 100, 100 },   { 1, 200000 }, { 4096, 512 },
				       { 0, SIZE_MAX }, { SIZE_MAX, 0 } };
	size_t i, k;
	char *p;

	for (i = 0; i < sizeof(n) / sizeof(*n); i++)
		for (k = 0; k < 3; k++) { /* again and again: used memory must be zeroed */
			size_t size = n[i][0] * n[i][1], usable;

			errno = ODD;
			p = keep(calloc(hide(n[i][0]), hide(n[i][1])));
			usable = p ? malloc_usable_size(p) : 0;
			say("calloc zeroed %d\n", p && all_zero(p, size) && usable >= size);
			shown("calloc", p, size, promised(size));
		}
	errno = ODD;
	shown("calloc overflows", keep(calloc(hide(SIZE_MAX / 2), 3)), 0, 1);
	shown("calloc overflows", keep(calloc(hide((size_t)1 << 32), (size_t)1 << 32)), 0, 1);
	shown("calloc overflows to 16", keep(calloc(hide(SIZE_MAX / 16 + 2), 16)), 0, 1);
	shown("calloc nearly overflows", keep(calloc(hide(SIZE_MAX), 1)), 0, 1);
	shown("calloc nearly overflows", keep(calloc(1, hide(SIZE_MAX - 7))), 0, 1);
	shown("calloc PTRDIFF_MAX", keep(calloc(1, hide(PTRDIFF_MAX))), 0, 1);
}

/* Apart, or the compiler would take p for freed. */
SITE void *wont(void *p, size_t count, size_t each)
{
	return keep(reallocarray(p, count, each));
}

/* The bytes that fit into both sizes must survive. */
static void do_realloc(void)
{
	static const size_t steps[] = { 1,   8,       9,       24,      16,     100, 4000, 40, 200000,
					100, 1 << 20, 3 << 20, 1 << 19, 131072, 10,  5000, 0 };
	size_t i, had = 0;
	char *p = NULL, *q;

	for (i = 0; steps[i]; i++) {
		size_t both = had < steps[i] ? had : steps[i];

		errno = ODD;
		p = keep(realloc(p, steps[i]));
		say("realloc %zu: %d kept %d\n", steps[i], p != NULL, p && has_pattern(p, both, 3));
		show("realloc", p, steps[i], promised(steps[i]));
		had = malloc_usable_size(p); /* all of which show() has filled */
	}
	had = 5000;
	errno = ODD;
	q = keep(realloc(p, hide(PTRDIFF_MAX)));
	say("realloc PTRDIFF_MAX: %d errno %d kept %d\n", q != NULL, errno, has_pattern(p, had, 3));
	for (i = 0; i < 24; i++) {
		errno = ODD;
		q = keep(realloc(p, hide(SIZE_MAX - i)));
		say("realloc SIZE_MAX - %zu: %d errno %d kept %d\n", i, q != NULL, errno,
		    has_pattern(p, had, 3));
	}
	errno = ODD;
	q = keep(realloc(p, 0));
	say("realloc to 0: %d errno %d\n", q != NULL, errno);
	free(q);
	errno = ODD;
	shown("realloc NULL 0", keep(realloc(NULL, 0)), 0, 1);
	shown("realloc NULL SIZE_MAX", keep(realloc(NULL, hide(SIZE_MAX))), 0, 1);
	errno = ODD;
	p = keep(reallocarray(NULL, 10, 10));
	show("reallocarray", p, 100, 16);
	errno = ODD;
	q = wont(p, SIZE_MAX / 4, 5);
	say("reallocarray overflows: %d errno %d kept %d\n", q != NULL, errno, has_pattern(p, 100, 3));
	errno = ODD;
	q = wont(p, SIZE_MAX, 1);
	say("reallocarray too much: %d errno %d kept %d\n", q != NULL, errno, has_pattern(p, 100, 3));
	p = keep(reallocarray(p, 1000, 10));
	say("reallocarray grown: %d kept %d\n", p != NULL, p && has_pattern(p, 100, 3));
	errno = ODD;
	q = keep(reallocarray(p, 0, 10));
	say("reallocarray to 0: %d errno %d\n", q != NULL, errno);
	free(q);
}

static void one_posix(size_t align, size_t n)
{
	void *const before = &page;
	void *p = before;
	int rc;

	errno = ODD;
	rc = posix_memalign(&p, hide(align), hide(n));
	say("posix_memalign %zu %zu: %d errno %d untouched %d\n", align, n, rc, errno, p == before);
	if (rc)
		return;
	if (p)
		show("posix_memalign", p, n, align);
	free(p);
}

static void do_posix_memalign(void)
{
	size_t a, i;

	for (a = 1; a <= (size_t)1 << 22; a *= 2) {
		one_posix(a, 1);
		one_posix(a, a);
		one_posix(a, 3 * a + 5);
	}
	one_posix(0, 10);
	one_posix(4, 10);
	one_posix(12, 10);
	one_posix(24, 10);
	one_posix(48, 10);
	one_posix(4095, 10);
	one_posix(SIZE_MAX, 10);
	one_posix((size_t)1 << 63, 10);
	one_posix(64, 0);
	one_posix(16, PTRDIFF_MAX);
	one_posix(4096, PTRDIFF_MAX);
	for (i = 0; i < 24; i++)
		one_posix(64, SIZE_MAX - i);
}

static void do_aligned(void)
{
	static const size_t odd[] = { 0, 1, 2, 3, 4, 8, 12, 24, 33, 48, 100, 1000, 5000 };
	size_t a, i;

	for (a = 1; a <= (size_t)1 << 22; a *= 2) {
		errno = ODD;
		shown("memalign", keep(memalign(hide(a), 100)), 100, a);
		shown("memalign big", keep(memalign(hide(a), 200000)), 200000, a);
		shown("aligned_alloc", keep(aligned_alloc(hide(a), 2 * a)), 2 * a, a);
		shown("aligned_alloc of no multiple", keep(aligned_alloc(hide(a), a + 1)), a + 1, a);
		shown("memalign none", keep(memalign(hide(a), 0)), 0, a);
	}
	for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		errno = ODD;
		shown("memalign odd", keep(memalign(hide(odd[i]), 100)), 100, 1);
		shown("aligned_alloc odd", keep(aligned_alloc(hide(odd[i]), 100)), 100, 1);
	}
	errno = ODD;
	shown("memalign too aligned", keep(memalign(hide(SIZE_MAX / 2 + 2), 1)), 0, 1);
	shown("memalign SIZE_MAX", keep(memalign(64, hide(SIZE_MAX))), 0, 1);
	shown("memalign SIZE_MAX - 70", keep(memalign(64, hide(SIZE_MAX - 70))), 0, 1);
	shown("memalign PTRDIFF_MAX", keep(memalign(4096, hide(PTRDIFF_MAX))), 0, 1);
	shown("aligned_alloc SIZE_MAX", keep(aligned_alloc(64, hide(SIZE_MAX - 63))), 0, 1);
	shown("aligned_alloc too aligned", keep(aligned_alloc(hide((size_t)1 << 63), 64)), 0, 1);
	for (a = 32; a <= 65536; a *= 8) { /* and moved by realloc */
		char *p = keep(memalign(a, 1000));

		show("memalign", p, 1000, a);
		p = keep(realloc(p, 100000));
		say("moved %d\n", p && has_pattern(p, 1000, 3));
		free(p);
	}
}

static void do_pages(void)
{
	size_t n;
	char *p;

	for (n = 0; n < 4; n++) {
		errno = ODD;
		shown("valloc", keep(valloc(n * 3000)), n * 3000, page);
		p = keep(pvalloc(n * 3000));
		show("pvalloc", p, (n * 3000 + page - 1) / page * page, page);
		free(p);
		p = keep(pvalloc(n * page));
		show("pvalloc whole", p, n * page, page);
		free(p);
	}
	errno = ODD;
	shown("valloc SIZE_MAX", keep(valloc(hide(SIZE_MAX))), 0, 1);
	shown("valloc PTRDIFF_MAX", keep(valloc(hide(PTRDIFF_MAX))), 0, 1);
	shown("pvalloc SIZE_MAX", keep(pvalloc(hide(SIZE_MAX))), 0, 1);
	shown("pvalloc SIZE_MAX - page", keep(pvalloc(hide(SIZE_MAX - page))), 0, 1);
	shown("pvalloc SIZE_MAX - 2 pages", keep(pvalloc(hide(SIZE_MAX - 2 * page))), 0, 1);
	shown("pvalloc PTRDIFF_MAX", keep(pvalloc(hide(PTRDIFF_MAX))), 0, 1);
}

static void do_free(void)
{
	static const size_t sizes[] = { 1, 100, 2000, 1 << 20, 64 << 20 };
	void (*sized)(void *, size_t) = NULL;
	void (*aligned_sized)(void *, size_t, size_t) = NULL;
	size_t i;
	void *p;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		p = keep(malloc(sizes[i]));
		errno = ODD;
		free(p);
		say("free %zu: errno %d\n", sizes[i], errno);
	}
	errno = ODD;
	free(NULL);
	say("free NULL: errno %d usable %zu\n", errno, malloc_usable_size(NULL));
	*(void **)&sized = dlsym(RTLD_DEFAULT, "free_sized");
	*(void **)&aligned_sized = dlsym(RTLD_DEFAULT, "free_aligned_sized");
	say("# api %d\n", sized && aligned_sized); /* the tracker has them always */
	errno = ODD;
	if (sized) {
		sized(keep(malloc(10)), 10);
		sized(keep(realloc(keep(malloc(10)), 1000)), 1000);
		sized(keep(calloc(10, 10)), 100);
		sized(NULL, 0);
	}
	if (aligned_sized) {
		aligned_sized(keep(aligned_alloc(64, 640)), 64, 640);
		aligned_sized(NULL, 64, 0);
	}
	say("sized: errno %d\n", errno);
}

/* libc's own even where another allocator has the rest: not for these. */
static void do_cfree(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		cfree(keep(malloc(50)));
		cfree(keep(calloc(1, (size_t)i << 18)));
	}
	cfree(NULL);
	say("cfree\n");
}

/* Little by little, and all of the usable size used: the neighbours are unharmed. */
static void do_usable(void)
{
	enum { N = 500 };
	static char *p[N];
	static size_t usable[N];
	size_t i, bad = 0;

	for (i = 0; i < N; i++) {
		p[i] = keep(malloc(i * (i % 7)));
		usable[i] = malloc_usable_size(p[i]);
		bad += usable[i] < i * (i % 7);
		pattern(p[i], usable[i], (unsigned char)i);
	}
	for (i = 0; i < N; i++)
		bad += usable[i] != malloc_usable_size(p[i]) ||
		       !has_pattern(p[i], usable[i], (unsigned char)i);
	for (i = 0; i < N; i++) {
		size_t n = usable[i];

		p[i] = keep(realloc(p[i], n + 1 + i % 100));
		bad += !has_pattern(p[i], n, (unsigned char)i);
		usable[i] = malloc_usable_size(p[i]);
		bad += usable[i] < n + 1;
		pattern(p[i], usable[i], (unsigned char)i);
	}
	for (i = 0; i < N; i++) {
		bad += !has_pattern(p[i], usable[i], (unsigned char)i);
		free(p[i]);
	}
	check(!bad, "usable sizes");
}

/* malloc_trim, mallinfo and the like still work; so do libc's own users. */
static void do_others(void)
{
	char *line = NULL, *text = NULL;
	size_t n = 0;
	FILE *f = fopen("/proc/self/status", "r");

	check(f && getline(&line, &n, f) > 0 && n >= strlen(line), "getline");
	free(line);
	if (f)
		fclose(f);
	check(asprintf(&text, "%0500d", 1) == 500, "asprintf");
	free(text);
	text = strdup("copied");
	check(text && !strcmp(text, "copied"), "strdup");
	free(text);
	text = realpath("/", NULL);
	check(text && !strcmp(text, "/"), "realpath");
	free(text);
	f = open_memstream(&text, &n);
	fprintf(f, "%01000d", 2);
	fclose(f);
	check(n == 1000 && strlen(text) == 1000, "open_memstream");
	free(text);
	check(mallopt(M_MMAP_THRESHOLD, 1 << 16) == 1, "mallopt");
	check((malloc_trim(0) & ~1) == 0, "malloc_trim");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} sections[] = {
		{ "malloc", do_malloc },   { "calloc", do_calloc },
		{ "realloc", do_realloc }, { "posix_memalign", do_posix_memalign },
		{ "aligned", do_aligned }, { "pages", do_pages },
		{ "free", do_free },       { "cfree", do_cfree },
		{ "usable", do_usable },   { "others", do_others },
	};
	size_t i;

	page = (size_t)sysconf(_SC_PAGESIZE);
	/* an allocator's first steps may set errno; they aren't the point */
	free(keep(malloc(100)));
	free(keep(memalign(64, 100)));
	for (i = 0; argc > 1 && i < sizeof(sections) / sizeof(*sections); i++)
		if (!strcmp(argv[1], sections[i].name)) {
			sections[i].run();
			return 0;
		}
	return 2;
}
