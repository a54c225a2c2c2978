/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "classes.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "musl.h"
#include "own_blocks.h"
#include "real.h"
#include "shared/sys/libc.h"

bool mw_real_classes;
uint16_t mw_class_room[MW_CLASS_MAX / MW_CLASS_STEP + 1];
uint64_t mw_class_ends;
uint32_t mw_class_small_ends;
uintptr_t mw_class_plain;
struct mw_class_page mw_class_pages[MW_CLASS_PAGES];
/* How many sizes of request, the largest ones, have that room with a tail, by room / MW_CLASS_STEP;
   0: it is no class. */
static uint16_t sizes_of[MW_CLASS_MAX / MW_CLASS_STEP + 1];

void mw_class_learn(const void *p, size_t room)
{
	struct mw_class_page *page = mw_class_page(p);
	uint32_t sizes = room <= MW_CLASS_MAX ? sizes_of[room / MW_CLASS_STEP] : 0;
	uint32_t number = (uint32_t)((uintptr_t)p >> MW_CLASS_PAGE_SHIFT),
		 both = sizes << 16 | (uint32_t)(room - 8);

	/* no store without news: other threads read this cache line */
	if (!sizes || (__atomic_load_n(&page->tail, __ATOMIC_RELAXED) == both &&
		       __atomic_load_n(&page->number, __ATOMIC_RELAXED) == number))
		return;
	__atomic_store_n(&page->tail, both, __ATOMIC_RELAXED);
	__atomic_store_n(&page->number, number, __ATOMIC_RELAXED);
}

static void plain_free(void *p, size_t room, int flags)
{
	(void)room;
	(void)flags;
	mw_real.free(p);
}

mw_class_free_fn *mw_class_free = plain_free;
mw_class_free_fn *mw_class_free_small = plain_free;

void *mw_real_own(const char *name)
{
	void *f = mw_real_next(name);

	return f && mw_real_same_object(f, (const void *)(uintptr_t)mw_real.malloc) ? f : NULL;
}

static size_t (*nallocx)(size_t, int);
static size_t (*good_size)(size_t);

static const char *allocator = "";
uintptr_t mw_allocator_start, mw_allocator_bytes;

/* Once, at load: no lock of the dynamic linker's may be taken later, in the middle of the allocator. */
static int find_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uintptr_t low = UINTPTR_MAX, high = 0, at = (uintptr_t)mw_real.malloc;

	(void)size;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + p->p_vaddr < low)
			low = info->dlpi_addr + p->p_vaddr;
		if (info->dlpi_addr + p->p_vaddr + p->p_memsz > high)
			high = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	if (at < low || at >= high)
		return 0;
	mw_allocator_start = low;
	mw_allocator_bytes = high - low;
	return 1;
}

const char *mw_real_allocator(void)
{
	return mw_real_glibc ? "glibc" : allocator;
}

static size_t room_for(size_t n)
{
	return nallocx ? nallocx(n, 0) : good_size(n);
}

size_t mw_class_size(const void *p)
{
	size_t n;

	if (mw_own_is(p))
		return mw_own_size(p);
	if (!mw_real_musl_plain || !mw_musl_plain(p, &n))
		n = mw_real.malloc_usable_size((void *)(uintptr_t)p);
	return mw_likely(n > MW_ROOM_UNKNOWN) ? n : (size_t)MW_ROOM_UNKNOWN;
}

static mw_class_free_fn *tc_free_sized; /* it has no flags, and doesn't read them */

static void tc_sized_free(void *p, size_t room, int flags)
{
	/* a block aligned to a page or more has whole pages, which a sized free takes for a class */
	if (mw_unlikely(((uintptr_t)p & 4095) == 0))
		mw_real.free(p);
	else
		tc_free_sized(p, room, flags);
}

/* Do blocks have the room that the allocator promises? */
static bool rooms_agree(void)
{
	static const size_t sizes[] = { 16,  24,   48,   100,  200,  328,
					648, 1000, 2000, 3000, 4000, MW_CLASS_MAX };
	bool same = true;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		void *p = mw_real.malloc(sizes[i]);

		same = same && p && mw_real.malloc_usable_size(p) == room_for(sizes[i]);
		mw_real.free(p);
	}
	return same;
}

static bool is_end(size_t n)
{
	return room_for(n) == n && room_for(n + 8) >= n + n / 16;
}

static void find_ends(void)
{
	for (size_t n = MW_BESIDE; n <= MW_CLASS_MAX; n += MW_SMALL_STEP)
		if (is_end(n))
			mw_class_small_ends |= (uint32_t)1 << (n / MW_SMALL_STEP - 1);
	for (size_t n = MW_CLASS_MAX + MW_KIB; n <= (size_t)64 * MW_KIB; n += MW_KIB)
		if (is_end(n))
			mw_class_ends |= (uint64_t)1 << (n / MW_KIB - 1);
}

static void fill_table(void)
{
	size_t last = 0;

	for (size_t i = MW_CLASS_LEAST / MW_CLASS_STEP; i <= MW_CLASS_MAX / MW_CLASS_STEP; i++) {
		size_t n = i * MW_CLASS_STEP, room = room_for(n);
		size_t least = n > MW_CLASS_LEAST ? n - MW_CLASS_STEP + 1 : n;

		/* one class for all requests of an entry; classes grow with the request */
		if (room < n || room < last || room > UINT16_MAX || room_for(least) != room) {
			memset(mw_class_room, 0, sizeof(mw_class_room));
			return;
		}
		last = room;
		mw_class_room[i] = (uint16_t)room;
	}
	for (size_t i = 0; i < MW_CLASS_LEAST / MW_CLASS_STEP; i++)
		mw_class_room[i] = mw_class_room[MW_CLASS_LEAST / MW_CLASS_STEP];
	for (size_t i = MW_CLASS_LEAST / MW_CLASS_STEP; i <= MW_CLASS_MAX / MW_CLASS_STEP; i++)
		if (mw_class_room[i] % MW_CLASS_STEP == 0 && mw_class_room[i] <= MW_CLASS_MAX) {
			uint16_t *sizes = &sizes_of[mw_class_room[i] / MW_CLASS_STEP];

			*sizes = mw_goes_beside((i - 1) * MW_CLASS_STEP) ? 0 : *sizes + MW_CLASS_STEP;
		}
}

bool mw_classes_known(void)
{
	return mw_class_room[MW_CLASS_LEAST / MW_CLASS_STEP] != 0;
}

/* glibc and musl map without calling our mmap. */
static bool is_of_libc(void)
{
	struct mw_object o;

	return mw_object_of((uintptr_t)mw_real.malloc, &o) && mw_is_libc(o.map);
}

void mw_classes_init(void)
{
	mw_class_free_fn *sdallocx = NULL;

	if (mw_real_own("mallocx")) {
		nallocx = (size_t (*)(size_t, int))mw_real_own("nallocx");
		sdallocx = (mw_class_free_fn *)mw_real_own("sdallocx");
	} else if (mw_real_own("mi_malloc")) {
		good_size = (size_t (*)(size_t))mw_real_own("mi_good_size");
	} else if (mw_real_own("tc_malloc")) {
		nallocx = (size_t (*)(size_t, int))mw_real_own("tc_nallocx");
		tc_free_sized = (mw_class_free_fn *)mw_real_own("tc_free_sized");
	} else {
		/* the second call frees the messages on missing functions, while all calls pass through */
		if (dlerror())
			(void)dlerror();
		if (!is_of_libc())
			mw_allocator_bytes = UINTPTR_MAX;
		return;
	}
	if (dlerror())
		(void)dlerror();
	mw_real_classes = true;
	dl_iterate_phdr(find_object, NULL);
	allocator = tc_free_sized ? "tcmalloc" : good_size ? "mimalloc" : "jemalloc";
	if (sdallocx) {
		mw_class_free = mw_class_free_small = sdallocx;
	} else if (tc_free_sized) {
		mw_class_free = tc_sized_free;
		mw_class_free_small = tc_free_sized;
	} else {
		mw_class_free_small = (mw_class_free_fn *)(void (*)(void))mw_real.free;
	}
	mw_classes_fill();
}

void mw_classes_fill(void)
{
	if (mw_real_classes && !mw_classes_known() && (nallocx || good_size) &&
	    mw_real.malloc_usable_size && rooms_agree()) {
		find_ends();
		fill_table();
	}
}
