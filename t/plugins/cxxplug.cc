/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cxxplug.cc - a C++ library that a C program loads late: see cxxhost.c. */
#include <new>
#include <stdexcept>
#include <string>

#include "../lib/site.h"

extern "C" {
SITE void *plug_new(size_t n);
SITE void plug_delete(void *p);
SITE int plug_throw(size_t n);

SITE void *plug_new(size_t n)
{
	return keep(new char[n]);
}
SITE void plug_delete(void *p)
{
	delete[] static_cast<char *>(p);
}

SITE int plug_throw(size_t n)
{
	try {
		if (n)
			throw std::runtime_error(std::string(n, 'x'));
		keep(::operator new(hide(PTRDIFF_MAX)));
	} catch (const std::bad_alloc &) {
		return 2;
	} catch (const std::runtime_error &e) {
		return std::string(e.what()).size() == n;
	}
	return 0;
}
}
