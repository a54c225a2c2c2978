/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cxx.cc - operator new and delete in every form that C++17 has, with counts by
 * function; what fails throws; classes and new_handlers have their say.
 * Functions are extern "C" so that their names in a location are plain.
 */
#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "../lib/site.h"

using std::align_val_t;
using std::size_t;

#define N 100

extern "C" {
SITE void *new_one(size_t n)
{
	return keep(::operator new(n));
}
SITE void *new_array(size_t n)
{
	return keep(::operator new[](n));
}
SITE void *new_nothrow(size_t n)
{
	return keep(::operator new(n, std::nothrow));
}
SITE void *new_array_nothrow(size_t n)
{
	return keep(::operator new[](n, std::nothrow));
}
SITE void *new_aligned(size_t n, size_t a)
{
	return keep(::operator new(n, align_val_t(a)));
}
SITE void *new_array_aligned(size_t n, size_t a)
{
	return keep(::operator new[](n, align_val_t(a)));
}
SITE void *new_aligned_nothrow(size_t n, size_t a)
{
	return keep(::operator new(n, align_val_t(a), std::nothrow));
}
SITE void *new_array_aligned_nothrow(size_t n, size_t a)
{
	return keep(::operator new[](n, align_val_t(a), std::nothrow));
}
MALLOC_SITE(by_malloc);
}

struct Big {
	Big()
	{
		memset(data, 7, sizeof(data));
	}
	virtual ~Big()
	{
		STAY();
	}
	char data[1000];
};

struct alignas(128) Wide {
	char data[256];
};

static int own_news, own_deletes;

struct Own {
	static void *operator new(size_t n)
	{
		own_news++;
		return by_malloc(n);
	}
	static void operator delete(void *p)
	{
		own_deletes++;
		free(p);
	}
	char data[500];
};

struct Throws {
	Throws()
	{
		if (hide(1))
			throw 1;
	}
	char data[300];
};

extern "C" {
SITE Big *make_object()
{
	return static_cast<Big *>(keep(new Big));
}
SITE Wide *make_wide()
{
	return static_cast<Wide *>(keep(new Wide));
}
SITE Own *make_own()
{
	return static_cast<Own *>(keep(new Own));
}
SITE void throwing()
{
	try {
		keep(new Throws);
	} catch (int) {
	}
}
}

static bool is_aligned(void *p, size_t a)
{
	return reinterpret_cast<uintptr_t>(p) % a == 0;
}

/* Each new with each delete that fits it. */
static void forms()
{
	size_t i, a;
	bool good = true;

	for (i = 1; i <= N; i++) {
		::operator delete(new_one(i));
		::operator delete(new_one(i), i);
		::operator delete(new_one(i), std::nothrow);
		::operator delete[](new_array(2 * i));
		::operator delete[](new_array(2 * i), 2 * i);
		::operator delete(new_nothrow(3 * i));
		::operator delete[](new_array_nothrow(4 * i), std::nothrow);
		for (a = 32; a <= 8192; a *= 4) {
			void *p[4] = { new_aligned(i, a), new_array_aligned(i, a),
				       new_aligned_nothrow(i, a), new_array_aligned_nothrow(i, a) };

			for (void *q : p)
				good &= is_aligned(q, a);
			::operator delete(p[0], align_val_t(a));
			::operator delete[](p[1], i, align_val_t(a));
			::operator delete(p[2], i, align_val_t(a));
			::operator delete[](p[3], align_val_t(a), std::nothrow);
		}
	}
	check(good, "aligned as asked");
	::operator delete(nullptr);
	::operator delete[](nullptr, 5);
	keep(new_one(0));
	keep(new_array(11));
	const uint64_t s = N * (N + 1) / 2;
	expect("new_one", 3 * N + 1, 3 * N, 3 * s, 0);
	expect("new_array", 2 * N + 1, 2 * N, 4 * s + 11, 11);
	expect("new_nothrow", N, N, 3 * s, 0);
	expect("new_array_nothrow", N, N, 4 * s, 0);
	expect("new_aligned", 5 * N, 5 * N, 5 * s, 0);
	expect("new_array_aligned", 5 * N, 5 * N, 5 * s, 0);
	expect("new_aligned_nothrow", 5 * N, 5 * N, 5 * s, 0);
	expect("new_array_aligned_nothrow", 5 * N, 5 * N, 5 * s, 0);
}

static void objects()
{
	Big *b[5];
	Own *o[5];
	Wide *w;
	int i;

	for (i = 0; i < 5; i++) {
		b[i] = make_object();
		o[i] = make_own();
		throwing();
	}
	for (i = 0; i < 4; i++) {
		delete b[i];
		delete o[i];
	}
	w = make_wide();
	check(is_aligned(w, 128), "alignas");
	delete w;
	make_wide();
	check(own_news == 5 && own_deletes == 4, "a class with its own new and delete");
	expect("make_object", 6, 5, 6 * sizeof(Big), sizeof(Big));
	expect("by_malloc", 5, 4, 2500, 500);
	expect("make_own", 0, 0, 0, 0);
	expect("make_wide", 2, 1, 512, 256);
	expect("throwing", 5, 5, 1500, 0);
}

static int handled;
static void *reserve;

static void give_back()
{
	handled++;
	free(reserve);
	reserve = nullptr;
	if (handled == 3)
		std::set_new_handler(nullptr);
}

static bool throws(void *(*f)(size_t), size_t n)
{
	try {
		f(n);
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

static bool throws(void *(*f)(size_t, size_t), size_t n, size_t a)
{
	try {
		f(n, a);
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

static bool aligned_throws(size_t n)
{
	return throws(new_aligned, n, 64) && throws(new_array_aligned, n, 64);
}

static void failures()
{
	const size_t sizes[] = { hide(PTRDIFF_MAX), hide(SIZE_MAX), hide(SIZE_MAX - 7),
				 hide(SIZE_MAX - 15) };

	for (size_t n : sizes) {
		check(throws(new_one, n) && throws(new_array, n), "bad_alloc");
		check(!new_nothrow(n) && !new_array_nothrow(n), "nullptr");
	}
	/* not near SIZE_MAX: libstdc++ 12 rounds that up to 0 */
	check(aligned_throws(sizes[0]), "bad_alloc, aligned");
	check(!new_aligned_nothrow(sizes[0], 64) && !new_array_aligned_nothrow(sizes[0], 64),
	      "nullptr, aligned");
	reserve = malloc(100);
	std::set_new_handler(give_back);
	check(throws(new_one, sizes[0]) && handled == 3, "the handler was called");
	std::set_new_handler(give_back);
	handled = 2;
	check(!new_nothrow(sizes[0]) && handled == 3, "for nothrow too");
	std::set_new_handler([] { throw std::bad_alloc(); });
	check(throws(new_array, sizes[0]), "the handler throws");
	check(!new_nothrow(sizes[0]), "which nothrow catches");
	std::set_new_handler(nullptr);
	/* after all of that the thread's counts must still be right */
	::operator delete(new_one(3));
}

static void library()
{
	std::map<int, std::string> m;
	std::vector<std::shared_ptr<Big>> v;
	size_t n = 0;

	for (int i = 0; i < 1000; i++) {
		m[i] = std::string(static_cast<size_t>(i), 'x');
		v.push_back(std::make_shared<Big>());
	}
	for (auto &e : m)
		n += e.second.size();
	check(n == 999 * 1000 / 2 && v.size() == 1000, "containers");
}

/* Static objects are built before main and destroyed after it. */
static std::unique_ptr<Big> global(make_object());

int main(int argc, char **argv)
{
	(void)argv;
	delete global.release(); /* so that counts start even */
	if (argc > 1) {
		failures();
		expect("new_one", 1, 1, 3, 0);
		expect("new_nothrow", 0, 0, 0, 0);
		expect("new_aligned", 0, 0, 0, 0);
		return 0;
	}
	forms();
	objects();
	library();
	return 0;
}
